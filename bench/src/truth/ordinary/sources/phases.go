// A client that tells its phases: `URL COUNT THINK_MS PROTOCOL`. Prints port, when connect() or the request began, when the
// last byte was read (nanoseconds since the Unix epoch), and 0.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"sync"
	"time"
)

func one(client *http.Client, url string) {
	var port int
	var begins time.Time
	trace := &httptrace.ClientTrace{
		ConnectStart: func(_, _ string) { begins = time.Now() },
		GotConn: func(it httptrace.GotConnInfo) {
			if it.Reused {
				begins = time.Now()
			}
			port = it.Conn.LocalAddr().(*net.TCPAddr).Port
		},
	}
	request, _ := http.NewRequest("GET", url, nil)
	response, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, response.Body)
	ends := time.Now()
	response.Body.Close()
	fmt.Printf("%d %d %d 0\n", port, begins.UnixNano(), ends.UnixNano())
}

func main() {
	url, protocol := os.Args[1], os.Args[4]
	count, _ := strconv.Atoi(os.Args[2])
	think, _ := strconv.Atoi(os.Args[3])
	keys, err := os.Create(os.Getenv("SSLKEYLOGFILE"))
	if err != nil {
		panic(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, KeyLogWriter: keys}
	transport.Proxy = nil
	transport.ForceAttemptHTTP2 = protocol == "h2"
	if protocol != "h2" {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	client := http.Client{Transport: transport}
	sizes := []int{100, 1000, 10000, 100000}
	document := func() string { return fmt.Sprintf("%s/%d", url, sizes[rand.Intn(4)]) }
	for number := 0; number < count; {
		// On one connection, some requests at a time, once it is there.
		together := 1
		if protocol == "h2" && number > 0 {
			together = min(1+rand.Intn(3), count-number)
		}
		var all sync.WaitGroup
		for range together {
			all.Add(1)
			go func() {
				defer all.Done()
				one(&client, document())
			}()
		}
		all.Wait()
		number += together
		time.Sleep(time.Duration(rand.ExpFloat64() * float64(think) * float64(time.Millisecond)))
	}
}
