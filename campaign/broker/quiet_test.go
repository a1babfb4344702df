package broker

import (
	"errors"
	"os"
	"testing"

	"github.com/nats-io/nats-server/v2/server/pse"
)

// TestQuiet: nats-server does not read its share of the processor each second in programs that merely contain it. If this
// fails after an upgrade, procStatFile is no longer what it reads.
func TestQuiet(t *testing.T) {
	var share float64
	var resident, virtual int64
	if err := pse.ProcUsage(&share, &resident, &virtual); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it reads %g, %d, %d, %v", share, resident, virtual, err)
	}
}
