// Spdystream reads frames of SPDY/3 from its standard input with moby/spdystream's framer, and writes each back.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/moby/spdystream/spdy"
)

func main() {
	f, err := spdy.NewFramer(os.Stdout, os.Stdin)
	if err != nil {
		panic(err)
	}
	for {
		frame, err := f.ReadFrame()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = f.WriteFrame(frame)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
