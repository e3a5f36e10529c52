// 10,000 new connections per second of 12 KB through one link, in ns-3: connections --seconds=S [--count]
//
// Written to be fast: no trace files, no traffic control, and TIME-WAIT cut to 10 ms, because ns-3
// searches a list of all endpoints for each packet. The server closes first.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace
{

constexpr uint32_t REQUEST = 100;
constexpr uint32_t RESPONSE = 12000;
constexpr uint16_t PORT = 80;
const Time INTERARRIVAL = MicroSeconds(100);

uint64_t hops = 0;
uint64_t opened = 0;
uint64_t closed = 0;

void
CountArrival(Ptr<const Packet>)
{
    ++hops;
}

void
Drain(Ptr<Socket> socket)
{
    while (socket->GetRxAvailable() > 0)
    {
        socket->Recv();
    }
}

void
Answer(Ptr<Socket> socket)
{
    Drain(socket);
    socket->Send(Create<Packet>(RESPONSE));
    socket->Close();
}

void
Accept(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Answer));
}

void
Ask(Ptr<Socket> socket)
{
    socket->Send(Create<Packet>(REQUEST));
}

void
Finish(Ptr<Socket> socket)
{
    ++closed;
    socket->Close();
}

void
Open(Ptr<Node> client, Address server)
{
    auto nothing = MakeNullCallback<void, Ptr<Socket>>();
    Ptr<Socket> socket = Socket::CreateSocket(client, TcpSocketFactory::GetTypeId());
    socket->SetConnectCallback(MakeCallback(&Ask), nothing);
    socket->SetRecvCallback(MakeCallback(&Drain));
    socket->SetCloseCallbacks(MakeCallback(&Finish), nothing);
    socket->Bind();
    socket->Connect(server);
    ++opened;
    Simulator::Schedule(INTERARRIVAL, &Open, client, server);
}

void
Listen(Ptr<Node> server)
{
    Ptr<Socket> socket = Socket::CreateSocket(server, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    socket->Listen();
    auto always = MakeNullCallback<bool, Ptr<Socket>, const Address&>();
    socket->SetAcceptCallback(always, MakeCallback(&Accept));
}

void
ConfigureTcp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.005));
}

} // namespace

int
main(int argc, char** argv)
{
    double seconds = 5;
    bool count = false;
    CommandLine arguments;
    arguments.AddValue("seconds", "of virtual time", seconds);
    arguments.AddValue("count", "count packets", count);
    arguments.Parse(argc, argv);

    ConfigureTcp();
    NodeContainer nodes(2);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", StringValue("1ms"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000p"));
    NetDeviceContainer devices = link.Install(nodes);
    Ipv4InterfaceContainer interfaces =
        Ipv4AddressHelper("10.0.0.0", "255.255.255.252").Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    for (uint32_t i = 0; count && i < devices.GetN(); ++i)
    {
        auto callback = MakeCallback(&CountArrival);
        devices.Get(i)->TraceConnectWithoutContext("PhyRxEnd", callback);
    }

    Listen(nodes.Get(1));
    Address server = InetSocketAddress(interfaces.GetAddress(1), PORT);
    Simulator::ScheduleNow(&Open, nodes.Get(0), server);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << "hops " << hops << "\nopened " << opened << "\nclosed " << closed << std::endl;
    return 0;
}
