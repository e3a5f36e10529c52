// Serves the files of a directory with Go's net/http, nothing else changed.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	log.Fatal(http.ListenAndServe("0.0.0.0:"+os.Args[1], http.FileServer(http.Dir(os.Args[2]))))
}
