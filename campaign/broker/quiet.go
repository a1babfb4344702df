package broker

import (
	_ "unsafe" // for go:linkname

	_ "github.com/nats-io/nats-server/v2/server/pse"
)

// procStatFile is what nats-server reads each second, from the start of every program that contains it, to know its share
// of the processor. Nobody asks for this share here, and the programs that contain this package are those that carry out
// loads as well: emulators, servers and loaders, whose seconds must not be disturbed. Without a file it reads once
// more and stops.
//
//go:linkname procStatFile github.com/nats-io/nats-server/v2/server/pse.procStatFile
var procStatFile string

func init() { procStatFile = "" }
