package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"wiretime/artefact"
	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/flowcontrol"
	"wiretime/lab"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
	"wiretime/workload/pageload"
)

func framesCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "frames LOAD", Short: "Show what both ends of a load's connections sent, frame by frame, and what held the senders",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return showFrames(dir, args[0]) },
	}
	c.Flags().StringVar(&dir, "store", defaultStore, "folder of the results")
	return c
}

func showFrames(dir, id string) error {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	l, err := st.Load(id)
	if errors.Is(err, store.ErrNotFound) {
		return input(err)
	}
	if err != nil {
		return err
	}
	if err := checkBothEnds(l, "show the frames of"); err != nil {
		return err
	}
	switch {
	case l.Dropped:
		return input(fmt.Errorf("show the frames of load %s: its artefacts were dropped; %s", l.ID, comeBack(st, l)))
	case l.Artefacts == "":
		return input(fmt.Errorf("show the frames of load %s: it left no files ('wiretime show %s' has the reason)", l.ID, l.ID))
	}
	connections, err := readConnections(l)
	if errors.Is(err, fs.ErrNotExist) {
		return input(fmt.Errorf("show the frames of load %s: it has no packet capture", l.ID))
	}
	if err != nil {
		return fmt.Errorf("show the frames of load %s: %w", l.ID, err)
	}
	har, err := readHAR(l)
	if err != nil {
		return fmt.Errorf("show the frames of load %s: %w", l.ID, err)
	}
	epoch, since := began(har, connections)
	fmt.Fprintf(stdout, "load %s, %s\n", l.ID, l.Cell.Key())
	if len(connections) == 0 {
		_, err := fmt.Fprintln(stdout, "The capture has no TCP or QUIC connection.")
		return err
	}
	fmt.Fprintf(stdout, "Times are ms since %s. Windows are what the sender of DATA has left of them,\nonce the DATA has left or the update has arrived.\n", since)
	for i, c := range connections {
		if err := printConnection(i+1, c, epoch); err != nil {
			return err
		}
	}
	return nil
}

// readConnections reads the connections in a load's capture. If they show no frames, those in the loader's log follow.
// A load on the live clock has none.
func readConnections(l store.Load) ([]*flowcontrol.Connection, error) {
	if l.Cell.Clock() == study.ClockLive {
		return nil, nil
	}
	packets, err := capture.ReadPackets(filepath.Join(l.Artefacts, lab.CaptureFile))
	cut := errors.Is(err, capture.ErrTruncated)
	if err != nil && !cut {
		return nil, err
	}
	list := flowcontrol.Read(&evidence.Evidence{Protocol: l.Cell.On(study.AxisProtocol), Packets: packets})
	if cut {
		for _, c := range list {
			c.Unseen = append(c.Unseen, "packets at the end: the capture file is cut off")
		}
	}
	if slices.ContainsFunc(list, func(c *flowcontrol.Connection) bool { return len(c.Events) > 0 }) {
		return list, nil
	}
	log, err := artefact.Contents(filepath.Join(l.Artefacts, pageload.FramesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	logged, err := flowcontrol.ReadLog(log)
	return append(list, logged...), err
}

// began returns the moment from which times are counted, in ns since the Unix epoch, and its name: navigationStart or, without a page,
// the first packet.
func began(har *capture.HAR, connections []*flowcontrol.Connection) (int64, string) {
	if har != nil && len(har.Log.Pages) > 0 {
		return har.Log.Pages[0].Started.UnixNano(), "navigationStart"
	}
	first := int64(flowcontrol.Never)
	for _, c := range connections {
		first = min(first, c.Opened)
	}
	return first, "the first packet"
}

func printConnection(number int, c *flowcontrol.Connection, epoch int64) error {
	protocol := c.Protocol
	if protocol == "" {
		protocol = "unknown protocol"
	}
	flow := "from the loader's log"
	if c.Flow.Protocol != 0 {
		flow = c.Flow.String()
	}
	fmt.Fprintf(stdout, "\nconnection %d: %s, %s\n", number, flow, terminal.Line(protocol))
	for _, line := range c.Unseen {
		fmt.Fprintf(stdout, "not seen: %s\n", terminal.Line(line))
	}
	w := terminal.NewTable(stdout)
	if len(c.Events) > 0 {
		fmt.Fprintln(w, "\nsent, ms\treceived, ms\tfrom\tstream\tits window\tsession's\tframe")
	}
	for i := range c.Events {
		e := &c.Events[i]
		stream := "-"
		if e.OnStream {
			stream = fmt.Sprint(e.Stream)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", sinceEpoch(e.Sent, epoch), sinceEpoch(e.Received, epoch), e.Sender, stream,
			octetsLeft(e.StreamLeft), octetsLeft(e.SessionLeft), terminal.Line(e.String()))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range c.Transfers {
		if err := printTransfer(t, epoch); err != nil {
			return err
		}
	}
	return nil
}

func octetsLeft(left int64) string {
	if left == flowcontrol.NoWindow {
		return "-"
	}
	return fmt.Sprint(left)
}

func sinceEpoch(at, epoch int64) string {
	if at == flowcontrol.Never {
		return "-"
	}
	if at < epoch {
		return "-" + milliseconds(epoch-at)
	}
	return milliseconds(at - epoch)
}

// printTransfer prints what held a sender, in sum and stretch by stretch.
func printTransfer(t *flowcontrol.Transfer, epoch int64) error {
	took := t.To - t.From
	fmt.Fprintf(stdout, "\nthe %s sent %d octets from %s to %s ms, in %s ms, held by\n\n", t.Sender, t.Octets, sinceEpoch(t.From, epoch), sinceEpoch(t.To, epoch), milliseconds(took))
	w := terminal.NewTable(stdout)
	sums := t.Sums()
	for _, r := range flowcontrol.Reasons() {
		if sums[r] > 0 {
			fmt.Fprintf(w, "  %s\t%s ms\t%.1f %%\n", r, milliseconds(sums[r]), 100*float64(sums[r])/float64(took))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printHeld(t.Held, epoch)
}

// printHeld prints the first stretches of a transfer.
func printHeld(held []flowcontrol.Held, epoch int64) error {
	const most = 40
	w := terminal.NewTable(stdout)
	fmt.Fprintln(w, "\n  from, ms\tms\theld by")
	for i, h := range held {
		if i == most {
			fmt.Fprintf(w, "  and %d more stretches\n", len(held)-most)
			break
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", sinceEpoch(h.From, epoch), milliseconds(h.To-h.From), h.Reason)
	}
	return w.Flush()
}
