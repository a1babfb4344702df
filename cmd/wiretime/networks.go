package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/network"
	"wiretime/terminal"
)

func networksCommand() *cobra.Command {
	return &cobra.Command{
		Use: "networks [NAME]", Short: "List the named networks, or show one with its source",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listNetworks(stdout)
			}
			p, err := network.Profile(args[0])
			if err != nil {
				return input(err)
			}
			up, down := describe(p.Access[0])
			_, err = fmt.Fprintf(stdout, "%s\n  up    %s\n  down  %s\n  source: %s\n  %s\n", p.Name, up, down, p.Source, p.Note)
			if p.Access[0].Ride != nil && err == nil {
				err = drawRide(stdout, p)
			}
			return err
		},
	}
}

func listNetworks(out io.Writer) error {
	w := terminal.NewTable(out)
	fmt.Fprintln(w, "name\tup: rate, one-way delay\tdown: rate, one-way delay\tsource")
	for _, p := range network.Profiles() {
		up, down := describe(p.Access[0])
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, up, down, p.Source)
	}
	return w.Flush()
}

// describe returns the rate and the one-way delay of both directions of an access link, of a ride their means.
func describe(a network.Access) (up, down string) {
	up, down = describeLink(a.Up), describeLink(a.Down)
	if a.Ride != nil {
		const mean = "on average "
		up, down = mean+up, mean+down
	}
	return up, down
}

func describeLink(l network.Link) string {
	rate := l.Rate.String()
	if l.Trace != nil {
		rate = "trace " + l.Trace.Name
	} else if l.Rate == 0 {
		rate = "unlimited"
	}
	words := []string{rate, l.Delay.Round(10 * time.Microsecond).String()}
	if l.Jitter > 0 {
		words = append(words, "jitter "+l.Jitter.String())
	}
	if l.Loss.Rate > 0 {
		words = append(words, fmt.Sprintf("loss %g %%", l.Loss.Rate*100))
	}
	if l.Loss.GilbertElliott != nil {
		words = append(words, "bursty loss")
	}
	switch {
	case l.Queue.Packets > 0:
		words = append(words, fmt.Sprintf("queue %d packets", l.Queue.Packets))
	case l.Queue.Bytes > 0:
		words = append(words, fmt.Sprintf("queue %d kB", l.Queue.Bytes/1000))
	}
	return strings.Join(words, ", ")
}
