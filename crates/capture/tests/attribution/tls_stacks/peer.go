// Go's client and server: `peer serve [mtls]`, `peer get URL CLOCK [mtls] [new] PATH...`. A path is /SIZE; `new` opens a
// connection for each.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	arguments := os.Args[2:]
	is := func(word string) bool {
		at := slices.Index(arguments, word)
		if at >= 0 {
			arguments = slices.Delete(arguments, at, at+1)
		}
		return at >= 0
	}
	pair := must(tls.LoadX509KeyPair("cert.pem", "key.pem"))
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if os.Args[1] == "serve" {
		if is("mtls") {
			config.ClientAuth = tls.RequireAnyClientCert
		}
		config.NextProtos = []string{"http/1.1"}
		listener := must(tls.Listen("tcp", ":8443", config))
		panic(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			size := must(strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")))
			w.Header().Set("Content-Length", strconv.Itoa(size))
			w.Write(make([]byte, size))
		})))
	}
	config = &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(9)}
	if is("mtls") {
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: is("new")}
	client := http.Client{Transport: transport}
	clock := must(os.Create(arguments[1]))
	for _, path := range arguments[2:] {
		begin := time.Now()
		response := must(client.Get(arguments[0] + path))
		must(io.Copy(io.Discard, response.Body))
		took := time.Since(begin)
		response.Body.Close()
		fmt.Fprintf(clock, "%.6f %.3f\n", float64(begin.UnixMicro())/1e6, float64(took.Microseconds())/1e3)
	}
	transport.CloseIdleConnections()
	time.Sleep(200 * time.Millisecond)
}
