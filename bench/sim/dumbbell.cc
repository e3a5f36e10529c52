// 100 long flows each way through one bottleneck, in ns-3: dumbbell --seconds=S [--count]
//
// Written to be fast: no trace files, no traffic control, nix-vector routing, which caches
// routes. Packets are counted only on request, which does not change any packet.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace
{

constexpr uint32_t PAIRS = 100;
constexpr uint16_t PORT = 9;
constexpr double SPREAD = 0.1;

uint64_t hops = 0;

void
CountArrival(Ptr<const Packet>)
{
    ++hops;
}

void
ConfigureTcp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1460 * 1000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1460 * 1000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

// Links, with the address of each one's first end.
class Network
{
  public:
    Network()
        : m_addresses("10.0.0.0", "255.255.255.252")
    {
        InternetStackHelper stack;
        stack.SetRoutingHelper(Ipv4NixVectorHelper());
        stack.SetIpv6StackInstall(false);
        stack.Install(m_west);
        stack.Install(m_east);
        stack.Install(m_left);
        stack.Install(m_right);
        Join(m_west.Get(0), m_east.Get(0), "100Mbps", "20ms", "250p");
        for (uint32_t i = 0; i < PAIRS; ++i)
        {
            m_leftAddress[i] = Join(m_left.Get(i), m_west.Get(0), "1Gbps", "1ms", "1000p");
            m_rightAddress[i] = Join(m_right.Get(i), m_east.Get(0), "1Gbps", "1ms", "1000p");
        }
    }

    void StartFlows()
    {
        for (uint32_t i = 0; i < PAIRS; ++i)
        {
            double start = SPREAD * i / PAIRS;
            Flow(m_left.Get(i), m_right.Get(i), m_rightAddress[i], start);
            Flow(m_right.Get(i), m_left.Get(i), m_leftAddress[i], start + 0.5 * SPREAD / PAIRS);
        }
    }

    void Count()
    {
        for (uint32_t i = 0; i < m_devices.GetN(); ++i)
        {
            auto callback = MakeCallback(&CountArrival);
            m_devices.Get(i)->TraceConnectWithoutContext("PhyRxEnd", callback);
        }
    }

  private:
    Ipv4Address Join(Ptr<Node> one, Ptr<Node> other, const char* rate, const char* delay, const char* queue)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", StringValue(delay));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
        NetDeviceContainer devices = link.Install(one, other);
        Ipv4InterfaceContainer interfaces = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
        m_devices.Add(devices);
        return interfaces.GetAddress(0);
    }

    static void Flow(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, double start)
    {
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(address, PORT));
        sender.SetAttribute("SendSize", UintegerValue(14600));
        sender.Install(from).Start(Seconds(start));
        InetSocketAddress any(Ipv4Address::GetAny(), PORT);
        PacketSinkHelper("ns3::TcpSocketFactory", any).Install(to);
    }

    NodeContainer m_west{1}, m_east{1}, m_left{PAIRS}, m_right{PAIRS};
    NetDeviceContainer m_devices;
    Ipv4AddressHelper m_addresses;
    Ipv4Address m_leftAddress[PAIRS], m_rightAddress[PAIRS];
};

} // namespace

int
main(int argc, char** argv)
{
    double seconds = 60;
    bool count = false;
    CommandLine arguments;
    arguments.AddValue("seconds", "of virtual time", seconds);
    arguments.AddValue("count", "count packets", count);
    arguments.Parse(argc, argv);

    ConfigureTcp();
    Network network;
    network.StartFlows();
    if (count)
    {
        network.Count();
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << "hops " << hops << std::endl;
    return 0;
}
