package difference

import "fmt"

// Cause is a cause of the difference between two loads.
type Cause uint8

// The causes, in the order in which tables have them. The package documentation defines them.
const (
	SetUp Cause = iota
	Distance
	Server
	Windows
	Bandwidth
	Bytes
	Priorities
	Queue
	LossRecovery
	HeadOfLine
	Client
	NotAttributed
	causes // their number
)

var causeNames = [causes]string{
	"set-up", "distance", "server", "windows", "bandwidth", "bytes", "priorities", "queue", "loss recovery",
	"head-of-line blocking", "client", "not attributed",
}

// String returns the cause's name for people, which is also its name in JSON.
func (c Cause) String() string {
	if c < causes {
		return causeNames[c]
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// MarshalText returns the cause's name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Causes returns all causes.
func Causes() []Cause {
	all := make([]Cause, causes)
	for i := range all {
		all[i] = Cause(i)
	}
	return all
}
