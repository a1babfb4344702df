package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// A query is sent three times in all, 5 s apart: the C library's defaults, plus a
// third attempt (resolv.conf(5): timeout, attempts).
const (
	queryTimeout  = 5 * time.Second
	queryAttempts = 3
)

// Resolver returns a function that resolves names by querying the DNS server at
// an address:port for an A record over UDP (RFC 1035), one query for each call.
// Queries are numbered from 1. dial opens the socket.
func Resolver(dial func(ctx context.Context, network, address string) (net.Conn, error), server string) func(ctx context.Context, host string) (netip.Addr, error) {
	var queries atomic.Uint32
	return func(ctx context.Context, host string) (netip.Addr, error) {
		query := new(dns.Msg)
		query.SetQuestion(dns.Fqdn(host), dns.TypeA)
		query.Id = uint16(queries.Add(1))
		c, err := dial(ctx, "udp4", server)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("query the DNS server %s: %w", server, err)
		}
		defer c.Close()
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
		address, err := ask(c, query)
		if ctx.Err() != nil {
			return netip.Addr{}, context.Cause(ctx)
		}
		if err != nil {
			return netip.Addr{}, fmt.Errorf("query the DNS server %s: %w", server, err)
		}
		return address, nil
	}
}

// ask sends a query, repeatedly if necessary, and waits for the response.
func ask(c net.Conn, query *dns.Msg) (netip.Addr, error) {
	wire, err := query.Pack()
	if err != nil {
		return netip.Addr{}, err
	}
	answer := make([]byte, dns.MinMsgSize)
	for range queryAttempts {
		if err := c.SetReadDeadline(time.Now().Add(queryTimeout)); err != nil {
			return netip.Addr{}, err
		}
		if _, err := c.Write(wire); err != nil {
			return netip.Addr{}, err
		}
		for {
			n, err := c.Read(answer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return netip.Addr{}, err
			}
			if address, ours, err := readAnswer(answer[:n], query); ours {
				return address, err
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("timed out after %d queries of %v each", queryAttempts, queryTimeout)
}

// readAnswer parses a message. It is ours if it answers the query; others, such
// as late or forged ones, are ignored.
func readAnswer(message []byte, query *dns.Msg) (address netip.Addr, ours bool, err error) {
	answer := new(dns.Msg)
	if err := answer.Unpack(message); err != nil {
		return netip.Addr{}, false, err
	}
	if !answer.Response || answer.Id != query.Id ||
		len(answer.Question) != 1 || !strings.EqualFold(answer.Question[0].Name, query.Question[0].Name) {
		return netip.Addr{}, false, nil
	}
	if answer.Rcode != dns.RcodeSuccess {
		return netip.Addr{}, true, fmt.Errorf("the response code is %s", dns.RcodeToString[answer.Rcode])
	}
	for _, record := range answer.Answer {
		if a, ok := record.(*dns.A); ok {
			if address, ok := netip.AddrFromSlice(a.A.To4()); ok {
				return address, true, nil
			}
		}
	}
	return netip.Addr{}, true, errors.New("the response has no address")
}
