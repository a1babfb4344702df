package pageload

import (
	"fmt"

	"wiretime/evidence"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/study"
	"wiretime/window"
)

// leastTCPWindow is the size of Linux's smallest send buffer in octets (SOCK_MIN_SNDBUF).
const leastTCPWindow = 4608

// WindowName returns the canonical name of a value on an axis of windows. An error says which values are valid.
func WindowName(axis study.Axis, word string) (string, error) {
	if axis != study.AxisTCPWindow {
		s, err := window.Parse(word)
		return s.String(), err
	}
	octets, err := window.ParseSize(word)
	if err != nil || octets < leastTCPWindow || octets > 1<<30 {
		return "", fmt.Errorf("invalid size %q: want %d octets to 1 GiB, such as 64KiB or 10MB", word, leastTCPWindow)
	}
	return window.FormatSize(octets), nil
}

// RefuseWindow returns why a cell cannot have a value on an axis of windows, or nil if it can. It
// looks at the cell's protocol, loader and server only.
func RefuseWindow(axis study.Axis, name string, c study.Cell) error {
	row, err := protocol.Lookup(c.Over())
	if err != nil {
		return err
	}
	switch {
	case axis == study.AxisTCPWindow && row.Transport != "tcp":
		return fmt.Errorf("%s runs over UDP", row.Name)
	case axis == study.AxisTCPWindow:
		return nil
	case axis == study.AxisClientWindow && IsBrowser(c.By()):
		return fmt.Errorf("the loader %s has windows of its own", c.By())
	case axis == study.AxisServerWindow && c.On(study.AxisServer) != server.Own:
		return fmt.Errorf("the server %s has windows of its own", c.On(study.AxisServer))
	case axis == study.AxisServerWindow && IsBrowser(c.By()) && row.Transport == "tcp":
		return fmt.Errorf("the loader %s does not report the windows that a server announces over %s", c.By(), row.Name)
	}
	s, err := window.Parse(name)
	if err == nil {
		_, err = s.Over(row.Name)
	}
	return err
}

// receiver returns how an end with a named window receives over a protocol. It returns nil for the empty
// name and for study.WindowDefault.
func receiver(name, protocol string) (*window.Receiver, error) {
	if name == "" || name == study.WindowDefault {
		return nil, nil
	}
	s, err := window.Parse(name)
	if err != nil {
		return nil, err
	}
	r, err := s.Over(protocol)
	return &r, err
}

// orderedWindow returns a cell's window on an axis, or "" for the default.
func orderedWindow(c study.Cell, axis study.Axis) string {
	if c.Unusual(axis) {
		return c.On(axis)
	}
	return ""
}

// tcpWindow returns a cell's largest TCP buffer in octets, or 0 for the default.
func tcpWindow(c study.Cell) (int, error) {
	word := orderedWindow(c, study.AxisTCPWindow)
	if word == "" {
		return 0, nil
	}
	return window.ParseSize(word)
}

// windows returns the windows in octets that a cell sets, for its evidence to be checked against.
func windows(c study.Cell) (asked evidence.Windows, err error) {
	if asked.TCP, err = tcpWindow(c); err != nil {
		return asked, err
	}
	for _, end := range []struct {
		axis study.Axis
		to   *int
	}{{study.AxisClientWindow, &asked.Client}, {study.AxisServerWindow, &asked.Server}} {
		r, err := receiver(orderedWindow(c, end.axis), c.Over())
		if err != nil {
			return asked, err
		}
		if r != nil {
			*end.to = r.Stream
		}
	}
	return asked, nil
}
