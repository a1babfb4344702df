package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wiretime/network"
	"wiretime/study"
)

// round is a study of several setups, each on all networks of the population.
type round struct {
	number int
	loader string
	setups []setup
}

// name returns the study's name.
func (r round) name(site string) string {
	return fmt.Sprintf("advise-%.40s-%d", strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, site), r.number)
}

// text returns the study file. Equal questions and equal measurements give equal files, by which an interrupted round is
// found again.
func (r round) text(q *Question) ([]byte, error) {
	matrix := map[study.Axis][]string{}
	var only []string
	var paths []network.Path
	for _, s := range r.setups {
		var picks []string
		of := map[study.Axis][]string{}
		for _, share := range q.networks() {
			for axis, word := range s.values(q, r.loader, share.Network) {
				of[axis] = with(of[axis], word)
				matrix[axis] = with(matrix[axis], word)
			}
			if slices.ContainsFunc(paths, func(p network.Path) bool { return p.Name == s.network(share.Network) }) {
				continue
			}
			p, err := s.path(share.Network)
			if err != nil {
				return nil, err
			}
			paths = append(paths, p)
		}
		for _, axis := range axes {
			picks = append(picks, fmt.Sprintf("%s: %s", axis, list(of[axis])))
		}
		only = append(only, "    - {"+strings.Join(picks, ", ")+"}\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by wiretime advise.\nname: %s\nseed: %d\nrepeats: %d\nclock: virtual\nkeep: none\nmatrix:\n", r.name(q.Site), q.Seed, q.Loads)
	for _, axis := range axes {
		if axis == study.AxisNetwork {
			b.WriteString("  networks:\n")
			for _, p := range paths {
				b.WriteString("    - " + describe(p) + "\n")
			}
			continue
		}
		fmt.Fprintf(&b, "  %s: %s\n", study.Pages().Info(axis).Key, list(matrix[axis]))
	}
	b.WriteString("  only:\n" + strings.Join(only, ""))
	b.WriteString("options:\n  server_wait: recorded\n  origin_rtt: recorded\n  freeze: true\n")
	return []byte(b.String()), nil
}

func with(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

// list writes words as YAML.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// describe writes a network: the name of a profile, or one access link in place.
func describe(p network.Path) string {
	if _, err := network.Profile(p.Name); err == nil {
		return strconv.Quote(p.Name)
	}
	a := p.Access[0]
	text := fmt.Sprintf("{name: %q", p.Name)
	if a.Shared {
		text += ", shared: true"
	}
	return text + ", up: " + describeLink(a.Up) + ", down: " + describeLink(a.Down) + "}"
}

func describeLink(l network.Link) string {
	queue := "unlimited"
	switch {
	case l.Queue.Packets > 0:
		queue = fmt.Sprintf("%d packets", l.Queue.Packets)
	case l.Queue.Bytes > 0:
		queue = fmt.Sprintf("%d B", l.Queue.Bytes)
	}
	text := fmt.Sprintf("{rate: %v, delay: %v, queue: %s", l.Rate, l.Delay, queue)
	if l.Loss.Rate > 0 {
		text += fmt.Sprintf(", loss: %v", l.Loss.Rate)
	}
	return text + "}"
}
