package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

func main() {
	testing.Init()
	count := flag.Int("count", 5, "runs, of which the medians are printed")
	each := flag.String("benchtime", "300ms", "time or iterations of each benchmark, as go test takes it")
	flag.Parse()
	if err := report(os.Stdout, *count, *each); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
