// A client with the default transport: `URL COUNT THINK_MS IDLE_MS`.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	url := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	think, _ := strconv.Atoi(os.Args[3])
	idle, _ := strconv.Atoi(os.Args[4])
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	transport.ForceAttemptHTTP2 = false
	client := http.Client{Transport: transport}
	sizes := []int{100, 1000, 10000, 100000}
	for number := 0; number < count; number++ {
		response, err := client.Get(fmt.Sprintf("%s/%d", url, sizes[rand.Intn(4)]))
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		rest := time.Duration(rand.ExpFloat64() * float64(think) * float64(time.Millisecond))
		if rand.Intn(20) == 0 {
			rest = time.Duration(idle) * time.Millisecond
		}
		time.Sleep(rest)
	}
}
