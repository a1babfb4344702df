package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
	"wiretime/network"
)

// A ground is two hosts with something between them.
type ground struct {
	name   string
	server string // its address
	// inClient and inServer make a command run on a host.
	inClient, inServer func(*exec.Cmd)
	do                 func(func() error) error // on the client
	// carriers returns the processes between the hosts.
	carriers func() []int
	// before and after a measurement; nil: nothing to do
	before func(testing.TB) (after func() (late float64))
}

// BenchmarkThroughput sends data by iperf3 (Debian package iperf3) through a pair of veth devices, the
// emulator, and Mahimahi (0.98, mm-delay and mm-link) where that is installed. They take turns. For each
// it prints the median goodput and its share of veth's in the same turn, and the processor time
// of what is between the hosts and of everything, in s per GB.
func BenchmarkThroughput(b *testing.B) {
	grounds := []ground{veth(b), emulated(b, 0, false), emulated(b, 5_000_000_000, false), emulated(b, 1_000_000_000, false), emulated(b, 1_000_000_000, true)}
	grounds = append(grounds, mahimahi(b, "mm-delay", "1"), mahimahi(b, "mm-link", gigabit(b), gigabit(b)))
	results := make([][]throughput, len(grounds))
	for b.Loop() {
		for i, g := range grounds {
			if g.name != "" {
				results[i] = append(results[i], iperf(b, g))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	var table strings.Builder
	table.WriteString("\n| between the hosts | goodput, Mbit/s, median (best) | share of veth's | processor time between the hosts, s/GB | of everything, s/GB | packets late at most, ms |\n|" + strings.Repeat(" --- |", 6) + "\n")
	for i, g := range grounds {
		if len(results[i]) == 0 {
			continue
		}
		pick := func(f func(throughput) float64) []float64 {
			var v []float64
			for _, r := range results[i] {
				v = append(v, f(r))
			}
			slices.Sort(v)
			return v
		}
		rates := pick(func(r throughput) float64 { return r.rate / 1e6 })
		var shares []float64
		for k, r := range results[i] {
			shares = append(shares, r.rate/results[0][k].rate)
		}
		slices.Sort(shares)
		between, all := pick(func(r throughput) float64 { return r.between }), pick(func(r throughput) float64 { return r.all })
		late := pick(func(r throughput) float64 { return r.late })
		fmt.Fprintf(&table, "| %s | %.0f (%.0f) | %.2f | %.2f | %.2f | %.2f |\n", g.name, rates[len(rates)/2], rates[len(rates)-1],
			shares[len(shares)/2], between[len(between)/2], all[len(all)/2], late[len(late)/2])
	}
	b.Log(table.String())
}

// throughput is what one run of iperf3 gave.
type throughput struct {
	rate         float64 // bit/s
	between, all float64 // s/GB
	late         float64 // ms
}

// iperf measures for two seconds after one.
func iperf(b *testing.B, g ground) (t throughput) {
	after := func() float64 { return 0 }
	if g.before != nil {
		after = g.before(b)
	}
	server := exec.Command("iperf3", "-s", "-1", "--forceflush")
	g.inServer(server)
	said, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { // the client has the server's figures
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.Contains(lines.Text(), "listening"); {
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	client := exec.Command("iperf3", "-c", g.server, "-O", "1", "-t", "2", "-J")
	g.inClient(client)
	var report bytes.Buffer
	client.Stdout, client.Stderr = &report, os.Stderr
	if err := client.Start(); err != nil {
		b.Fatal(err)
	}
	// In the second half of the time all is under way.
	time.Sleep(1500 * time.Millisecond)
	pids := g.carriers()
	before, began := processorTime(pids), time.Now()
	time.Sleep(time.Second)
	share := float64(processorTime(pids)-before) / float64(time.Since(began))
	if err := client.Wait(); err != nil {
		b.Fatalf("%s: %v\n%s", g.name, err, report.String())
	}
	var r struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
			Processor struct {
				Host   float64 `json:"host_total"`
				Remote float64 `json:"remote_total"`
			} `json:"cpu_utilization_percent"`
		} `json:"end"`
	}
	if err := json.Unmarshal(report.Bytes(), &r); err != nil {
		b.Fatal(err)
	}
	t.late = after()
	t.rate = r.End.Received.Rate
	t.between = share / (t.rate / 8e9)
	t.all = t.between + (r.End.Processor.Host+r.End.Processor.Remote)/100/(t.rate/8e9)
	return t
}

// processorTime adds up the processor time of processes.
func processorTime(pids []int) (total time.Duration) {
	for _, pid := range pids {
		var t unix.Timespec
		clock := int32(^pid<<3 | 2) // CPUCLOCK_SCHED of the whole process, as clock_getcpuclockid makes it
		if unix.ClockGettime(clock, &t) == nil {
			total += time.Duration(t.Nano())
		}
	}
	return total
}

func veth(b *testing.B) ground {
	left, right := namespace(b), namespace(b)
	addresses := map[*Namespace]string{left: "198.18.0.2/24", right: "198.18.0.1/24"}
	err := left.Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "wt0", MTU: MTU}, PeerName: "wt0", PeerNamespace: netlink.NsFd(right.fd)})
	})
	if err != nil {
		b.Fatal(err)
	}
	for n, address := range addresses {
		if err := n.Do(func() error { return configure("wt0", mustParseCIDRAddress(address)) }); err != nil {
			b.Fatal(err)
		}
	}
	return ground{name: "veth", server: "198.18.0.1", inClient: left.Command, inServer: right.Command, do: left.Do, carriers: func() []int { return nil }}
}

func namespace(b *testing.B) *Namespace {
	n, err := NewNamespace()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = n.Close() })
	return n
}

// emulated is a lab whose path has a round trip of 2 ms.
func emulated(b *testing.B, rate network.BitRate, captured bool) ground {
	config := linuxBuffers
	config.AccessLinks = 1
	l, err := New(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	if err := l.setRoutes(TCPOptions{Congestion: "cubic", InitCwnd: 10}); err != nil {
		b.Fatal(err)
	}
	path := oneLink("throughput", rate, time.Millisecond)
	path.Access[0].Up.Queue = network.Queue{Bytes: 4 << 20}
	name := "the emulator, " + strings.TrimSuffix(rate.String(), "bit") + "bit/s"
	if rate == 0 {
		name = "the emulator, no limit"
	}
	if captured {
		name += ", captured"
	}
	return ground{
		name: name, server: ServerAddress(0).String(), inClient: l.client.Command, inServer: l.server.Command,
		carriers: func() []int { return []int{l.emulator.PID()} },
		before: func(b testing.TB) func() float64 {
			r := emulator.Recording{}
			if captured {
				file, err := os.CreateTemp(Scratch, "bench-*.pcapng")
				if err != nil {
					b.Fatal(err)
				}
				_ = os.Remove(file.Name())
				r.File = file
			}
			if err := l.emulator.Arm(b.Context(), path, 1, r); err != nil {
				b.Fatal(err)
			}
			if r.File != nil {
				_ = r.File.Close()
			}
			return func() float64 {
				report, err := l.emulator.Stop(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				return float64(report.LateMax) / 1e6
			}
		},
	}
}

// mahimahiOutside is the address of the host outside, seen from one of Mahimahi's shells.
const mahimahiOutside = "100.64.0.1"

// mahimahi runs the client inside one of Mahimahi's shells. They refuse to be run by root, and only
// root can start them in a namespace of their own. Without a name there is no such ground.
func mahimahi(b *testing.B, shell string, args ...string) ground {
	path, err := exec.LookPath(shell)
	if err != nil || os.Geteuid() != 0 {
		b.Logf("%s is not installed, or this is not root", shell)
		return ground{}
	}
	outside := namespace(b)
	if err := outside.Do(func() error { return sysctl("net/ipv4/ip_forward", "1") }); err != nil {
		b.Fatal(err)
	}
	// The shell sets up address translation with iptables, which needs modules that not every kernel has. Its own
	// network reaches the host outside without translation, so iptables is replaced by a program that does nothing.
	script := `mount --bind /bin/true "$(readlink -f "$(command -v iptables)")" && exec setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH="$PATH" USER=nobody HOME=/tmp "$@"`
	return ground{
		name: "Mahimahi, " + shell, server: mahimahiOutside, inServer: outside.Command,
		inClient: func(c *exec.Cmd) {
			inner := slices.Concat([]string{"--mount", "sh", "-c", script, "sh", path}, args, []string{"--"}, c.Args)
			if shell == "mm-delay" {
				inner = slices.Concat([]string{"--mount", "sh", "-c", script, "sh", path}, args, c.Args)
			}
			*c = *exec.Command("unshare", inner...)
			outside.Command(c)
		},
		carriers: func() []int { return named(shell) },
	}
}

// gigabit writes a delivery trace of 84 opportunities in each millisecond, 1008 Mbit/s.
func gigabit(b *testing.B) string {
	folder := b.TempDir()
	name := filepath.Join(folder, "gigabit")
	err := os.WriteFile(name, []byte(strings.Repeat("1\n", 84)), 0o644)
	for _, parent := range []string{folder, filepath.Dir(folder)} { // another user must be able to read it
		err = errors.Join(err, os.Chmod(parent, 0o755))
	}
	if err != nil {
		b.Fatal(err)
	}
	return name
}

// named returns the processes of a name.
func named(name string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, f := range files {
		if comm, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(comm)) == name {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func mustParseCIDRAddress(s string) *net.IPNet {
	ip, n, err := net.ParseCIDR(s)
	if err != nil {
		panic(err)
	}
	n.IP = ip
	return n
}
