package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wiretime/campaign/broker"
)

// reach says how workers reach a coordinator: by a NATS server that this program starts, or by one that is there already.
type reach struct {
	listen string
	hosts  []string
	invite []string
	access broker.Access
}

func (r *reach) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.listen, "listen", "", "`HOST:PORT` at which the NATS server lets workers of other machines in (default: only this machine)")
	f.StringArrayVar(&r.hosts, "host", nil, "`NAME` or address by which workers reach this machine, if it is not that of --listen (several times)")
	f.StringArrayVar(&r.invite, "invite", nil, "write an invitation for a worker to `NAME`.invitation, valid for 30 days or as long as the schedule (several times)")
	accessFlags(c, &r.access)
}

// accessFlags lets the user name a NATS server as NATS's own tools do.
func accessFlags(c *cobra.Command, a *broker.Access) {
	c.Flags().StringVar(&a.URL, "nats", "", "`URL` of a NATS server, or of several, separated by commas")
	c.Flags().StringVar(&a.Creds, "creds", "", "`FILE` with a NATS user's credentials, as nsc writes it")
	c.Flags().StringVar(&a.CA, "tlsca", "", "PEM `FILE` with the authorities that the NATS server's certificate may come from")
	c.Flags().StringVar(&a.Cert, "tlscert", "", "PEM `FILE` with a certificate for the NATS server")
	c.Flags().StringVar(&a.Key, "tlskey", "", "PEM `FILE` with that certificate's key")
}

// check returns an error if the flags contradict each other.
func (r *reach) check(c *cobra.Command) error {
	given := c.Flags().Changed
	if r.access.URL == "" {
		for _, flag := range []string{"creds", "tlsca", "tlscert", "tlskey"} {
			if given(flag) {
				return fmt.Errorf("--%s says how to reach a NATS server; name it with --nats", flag)
			}
		}
		return nil
	}
	for _, flag := range []string{"listen", "host", "invite"} {
		if given(flag) {
			return fmt.Errorf("--%s configures the NATS server that this program starts, and --nats names another one; leave out one of them (workers join with 'wiretime worker --nats')", flag)
		}
	}
	return nil
}

// words are the flags by which another program of this user reaches the same workers, without the invitations.
func (r *reach) words() (all []string) {
	add := func(flag, value string) {
		if value != "" {
			all = append(all, "--"+flag, value)
		}
	}
	add("listen", r.listen)
	for _, host := range r.hosts {
		add("host", host)
	}
	add("nats", r.access.URL)
	add("creds", r.access.Creds)
	add("tlsca", r.access.CA)
	add("tlscert", r.access.Cert)
	add("tlskey", r.access.Key)
	return all
}

// inviteTerm is how long an invitation is valid.
const inviteTerm = 30 * 24 * time.Hour

// invite writes an invitation for a worker.
func invite(server *broker.Server, name string, until time.Time) error {
	i, err := server.Invite(name, until)
	if err != nil {
		return input(err)
	}
	file := name + ".invitation"
	if err := i.Write(file); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Worker %s joins with: wiretime worker --join %s (copy that file there, and keep it secret)\n", name, file)
	return nil
}
