package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"wiretime/english"
	"wiretime/sandbox"
	"wiretime/station"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// liveOptions say how the servers of a study on the live clock are found and trusted.
type liveOptions struct {
	cacert  string
	resolve []string
}

// config reads the options. They are errors for a study on another clock.
func (o liveOptions) config(s *study.Study) (c station.LiveConfig, err error) {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--resolve", len(o.resolve) > 0}, {"--cacert", o.cacert != ""}} {
		if f.given && !s.Live() {
			return c, fmt.Errorf("%s is for studies on the live clock; those of a lab have names and certificates of their own", f.name)
		}
	}
	for _, r := range o.resolve {
		place, address, err := parseResolve(r)
		if err != nil {
			return c, fmt.Errorf("--resolve: %w", err)
		}
		if c.Addresses == nil {
			c.Addresses = map[string]netip.Addr{}
		}
		host, _, _ := strings.Cut(place, ":")
		c.Addresses[strings.ToLower(host)] = address
	}
	if o.cacert != "" {
		if c.Trusted, err = readCertificates(o.cacert); err != nil {
			return c, fmt.Errorf("--cacert: %w", err)
		}
	}
	return c, nil
}

// readCertificates reads the certificates in a PEM file.
func readCertificates(name string) (list []*x509.Certificate, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, certificate)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s contains no certificate in PEM", name)
	}
	return list, nil
}

// enterLive makes sure that real pages may be loaded here, and says once whether their packets are captured. It stays in
// this machine's network namespace. untapped is why they are not; nil if they are.
func enterLive(loaders []string) (untapped, err error) {
	for _, loader := range loaders {
		if !pageload.IsBrowser(loader) {
			continue
		}
		if err := sandbox.Examine().Suffices(os.Geteuid() == 0); err != nil {
			return nil, fmt.Errorf("load real pages in %s: %w, or run this as another user than root", loader, err)
		}
	}
	if untapped = station.CheckTap(); untapped != nil {
		fmt.Fprintf(stderr, "wiretime: note: no captures: %v, and metrics that need one have no value\n", untapped)
	}
	return untapped, nil
}

// printPlan says what a run of a study will load and, on the live clock, from whose servers.
func printPlan(out io.Writer, s *study.Study) error {
	cells := s.Cells(nil)
	loads := len(cells) * s.Repeats
	_, err := fmt.Fprintf(out, "Study %s: %s of %s, %s each.\n", s.Name, english.Count(loads, "load"), english.Count(len(cells), "cell"), english.Count(s.Repeats, "time"))
	if err != nil || !s.Live() {
		return err
	}
	hosts := map[string]int{}
	var order []string
	for _, c := range cells {
		u, err := url.Parse(c.Subject())
		if err != nil {
			return err
		}
		if hosts[u.Host] == 0 {
			order = append(order, u.Host)
		}
		hosts[u.Host] += s.Repeats
	}
	for _, host := range order {
		if _, err = fmt.Fprintf(out, "  %s: %s of its pages, %d at most if all have to be repeated\n", host, english.Count(hosts[host], "load"), hosts[host]*(1+s.Options.Retries)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(out, "Each load requests a page and all that it names, from whatever hosts it names. A load that gets no answer costs its host up to three requests more, which ask what it offers.")
	return err
}
