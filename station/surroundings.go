package station

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/tap"
)

// CheckTap returns why packets cannot be captured on the live clock, nil if they can. It opens a tap and ends it.
func CheckTap() error {
	wire, err := tap.Open()
	if err != nil {
		return err
	}
	_, err = wire.Stop()
	return err
}

// Surroundings describes what loads on the live clock depend on, for the store: the way into the network, resolvers, the
// clock, and whether packets are captured. It sends nothing. untapped is CheckTap's error.
func (c LiveConfig) Surroundings(untapped error) map[string]any {
	zone, offset := time.Now().Zone()
	e := map[string]any{
		"live_capture":    "the kernel's packet socket",
		"live_congestion": firstLine("/proc/sys/net/ipv4/tcp_congestion_control"),
		"live_time_zone":  fmt.Sprintf("%s, %+.2f h from UTC", zone, float64(offset)/3600),
		"live_clock":      clockState(),
	}
	if untapped != nil {
		e["live_capture"] = "none: " + untapped.Error()
	}
	var resolvers []string
	for _, a := range nameservers() {
		resolvers = append(resolvers, a.String())
	}
	e["live_resolvers"] = strings.Join(resolvers, ", ")
	for key, somewhere := range map[string]string{"live_route": "192.0.2.1", "live_route_ipv6": "2001:db8::1"} { // addresses of documentation: only the way there counts
		e[key] = route(net.ParseIP(somewhere))
	}
	var addresses []string
	for host, address := range c.Addresses {
		addresses = append(addresses, host+" at "+address.String())
	}
	if len(addresses) > 0 {
		e["live_addresses"] = strings.Join(addresses, ", ")
	}
	return e
}

// route says how packets leave this machine for an address.
func route(to net.IP) string {
	ways, err := netlink.RouteGet(to)
	if err != nil || len(ways) == 0 {
		return "none"
	}
	way := ways[0]
	text := "device " + fmt.Sprint(way.LinkIndex)
	if device, err := net.InterfaceByIndex(way.LinkIndex); err == nil {
		text = fmt.Sprintf("%s (MTU %d%s)", device.Name, device.MTU, speed(device.Name))
	}
	if way.Gw != nil {
		text += " by " + way.Gw.String()
	}
	if way.Src != nil {
		text += ", from " + way.Src.String()
	}
	return text
}

// speed returns what a network device says about itself, "" if it says nothing.
func speed(device string) string {
	folder := filepath.Join("/sys/class/net", device)
	if _, err := os.Stat(filepath.Join(folder, "wireless")); err == nil {
		return ", wireless"
	}
	if megabits := firstLine(filepath.Join(folder, "speed")); megabits != "" && !strings.HasPrefix(megabits, "-") {
		return ", " + megabits + " Mbit/s"
	}
	return ""
}

// clockState says how well this machine's clock is known to be right (adjtimex(2)).
func clockState() string {
	var state unix.Timex
	status, err := unix.Adjtimex(&state)
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return "not known"
	case err != nil:
		return "not known: " + err.Error()
	case status == unix.TIME_ERROR || state.Status&unix.STA_UNSYNC != 0:
		return "not synchronised"
	}
	unit := time.Microsecond
	if state.Status&unix.STA_NANO != 0 {
		unit = time.Nanosecond
	}
	return fmt.Sprintf("synchronised, %v off, at most %v", time.Duration(state.Offset)*unit, time.Duration(state.Maxerror)*time.Microsecond)
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
