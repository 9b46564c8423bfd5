package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"time"

	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("service", run) }

func run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "bench-service-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := build(ctx, dir)
	if err != nil {
		return err
	}
	rows, err := compare(ctx, p, dir, comparison{1, time.Second, 1000, []int{1, 8}}, func(f string, a ...any) { fmt.Fprintf(errOut, f+"\n", a...) })
	for _, r := range rows {
		fmt.Fprintln(out, r.workload, r.workers, r.ironic, r.ours, r.times())
	}
	return err
}
