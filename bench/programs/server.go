// Go's net/http, in HTTP/1.1 and HTTP/2: server MODE PORT [CERTIFICATE KEY]
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
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
	body := []byte(strings.Repeat("x", 300))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mode != "plain" {
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
		if mode == "think" {
			time.Sleep(60 * time.Millisecond)
		}
		w.Write(body)
	})
	listener, err := net.Listen("tcp", "0.0.0.0:"+os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if mode == "stall" {
		listener = nagling{listener}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handler, Protocols: protocols}
	if len(os.Args) > 3 {
		log.Fatal(server.ServeTLS(listener, os.Args[3], os.Args[4]))
	}
	log.Fatal(server.Serve(listener))
}
