// grpc-go with its health service: server MODE PORT
package main

import (
	"context"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	health_v1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

type nagling struct{ net.Listener }

func (it nagling) Accept() (net.Conn, error) {
	connection, err := it.Listener.Accept()
	if err == nil {
		connection.(*net.TCPConn).SetNoDelay(false)
	}
	return connection, err
}

func main() {
	mode := os.Args[1]
	listener, err := net.Listen("tcp", "0.0.0.0:"+os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if mode == "stall" {
		listener = nagling{listener}
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if mode != "plain" {
				grpc.SendHeader(ctx, metadata.Pairs("sent", "early"))
				time.Sleep(time.Millisecond)
			}
			if mode == "think" {
				time.Sleep(60 * time.Millisecond)
			}
			return handler(ctx, request)
		}))
	health_v1.RegisterHealthServer(server, health.NewServer())
	log.Fatal(server.Serve(listener))
}
