package critical

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"sort"

	"wiretime/evidence"
)

// causes finds what a resource of a page waited for. It takes logarithmic time, since a
// path may go through each of a page's resources.
type causes struct {
	ended     *ranking            // all resources, by their ends
	blocking  *ranking            // scripts and style sheets, by their ends
	redirects map[string]*ranking // by the address to which they redirect: by their ends
	addresses map[string]*ranking // by their address: by their starts
	sharing   map[shared]*ranking // by their connection: by when they were sent
	openers   map[shared]*ranking // by the connection that they opened: by when it was ready
}

// shared identifies a connection of the HAR.
type shared struct{ connection, server string }

func (r *resource) shared() shared { return shared{r.entry.Connection, r.entry.ServerIPAddress} }

func newCauses(resources []*resource) *causes {
	var blocking []*resource
	redirects, addresses := map[string][]*resource{}, map[string][]*resource{}
	sharing, openers := map[shared][]*resource{}, map[shared][]*resource{}
	for _, r := range resources {
		addresses[r.address] = append(addresses[r.address], r)
		if kind := r.entry.ResourceType; kind == "script" || kind == "stylesheet" {
			blocking = append(blocking, r)
		}
		if target := r.redirectsTo(); target != "" {
			redirects[target] = append(redirects[target], r)
		}
		if r.entry.Connection == "" {
			continue
		}
		sharing[r.shared()] = append(sharing[r.shared()], r)
		if _, opened := r.connected(); opened {
			openers[r.shared()] = append(openers[r.shared()], r)
		}
	}
	end := func(r *resource) int64 { return r.end }
	return &causes{
		ended:     newRanking(resources, end, endsLater),
		blocking:  newRanking(blocking, end, endsLater),
		redirects: newRankings(redirects, end, endsLater),
		addresses: newRankings(addresses, func(r *resource) int64 { return r.start }, startsLater),
		sharing:   newRankings(sharing, func(r *resource) int64 { return r.phases[atSend].from }, endsLater),
		openers:   newRankings(openers, func(r *resource) int64 { return r.phases[atSSL].to }, isListedBefore),
	}
}

// redirectsTo returns the address to which the resource's response redirected the
// browser, or "".
func (r *resource) redirectsTo() string {
	if r.entry.Response.RedirectURL == "" {
		return ""
	}
	base, err := url.Parse(r.url)
	if err != nil {
		return ""
	}
	target, err := base.Parse(r.entry.Response.RedirectURL)
	if err != nil {
		return ""
	}
	return evidence.Address(target.String())
}

// before returns the resource that ends last of those that were sent on r's connection
// before r.
func (c *causes) before(r *resource) *resource {
	return c.sharing[r.shared()].best(math.MinInt64, r.phases[atSend].from-1, nil)
}

// opener returns the first resource that opened r's connection and had it ready within
// (after, until].
func (c *causes) opener(r *resource, after, until int64) *resource {
	return c.openers[r.shared()].best(after, until, r)
}

// redirect returns the resource whose response redirected the browser to r.
func (c *causes) redirect(r *resource) *resource {
	return c.redirects[r.address].best(math.MinInt64, r.start+slack, r)
}

// initiator returns the resource that r's HAR entry names: the latest of its URL
// requested before r.
func (c *causes) initiator(r *resource) *resource {
	if r.entry.Initiator.URL == "" {
		return nil
	}
	named := c.addresses[evidence.Address(r.entry.Initiator.URL)]
	if q := named.best(r.start-1, r.start, nil); q != nil && q.number < r.number {
		return q
	}
	return named.best(math.MinInt64, r.start-1, nil)
}

// These say which of two resources ranks higher. No two resources rank equally.

func endsLater(a, b *resource) bool {
	return a.end > b.end || a.end == b.end && isListedBefore(a, b)
}

func startsLater(a, b *resource) bool {
	return a.start > b.start || a.start == b.start && isListedBefore(a, b)
}

func isListedBefore(a, b *resource) bool { return a.number < b.number }

// ranking finds the resource that ranks highest among those whose key lies in a range.
// It is a segment tree. A nil ranking holds no resources.
type ranking struct {
	key    func(*resource) int64
	above  func(a, b *resource) bool
	sorted []*resource // by their keys
	tree   []*resource // node i holds the higher of nodes 2i and 2i+1; the second half are the leaves
}

func newRankings[K comparable](groups map[K][]*resource, key func(*resource) int64, above func(a, b *resource) bool) map[K]*ranking {
	all := make(map[K]*ranking, len(groups))
	for k, group := range groups {
		all[k] = newRanking(group, key, above)
	}
	return all
}

// newRanking returns a ranking of resources, which must be in the order of the HAR.
func newRanking(resources []*resource, key func(*resource) int64, above func(a, b *resource) bool) *ranking {
	n := len(resources)
	tree := make([]*resource, 2*n)
	copy(tree[n:], resources)
	k := &ranking{key: key, above: above, sorted: tree[n:], tree: tree}
	slices.SortStableFunc(k.sorted, func(a, b *resource) int { return cmp.Compare(key(a), key(b)) })
	for i := n - 1; i > 0; i-- {
		tree[i] = k.higher(tree[2*i], tree[2*i+1])
	}
	return k
}

// higher returns the one of two resources that ranks higher. Either may be nil.
func (k *ranking) higher(a, b *resource) *resource {
	if a == nil || b != nil && k.above(b, a) {
		return b
	}
	return a
}

// best returns the resource that ranks highest among those whose key is in (after, until]
// and that are not except, or nil.
func (k *ranking) best(after, until int64, except *resource) *resource {
	if k == nil {
		return nil
	}
	from := sort.Search(len(k.sorted), func(i int) bool { return k.key(k.sorted[i]) > after })
	to := sort.Search(len(k.sorted), func(i int) bool { return k.key(k.sorted[i]) > until })
	if except == nil {
		return k.highest(from, to)
	}
	at := sort.Search(len(k.sorted), func(i int) bool {
		q := k.sorted[i]
		return cmp.Or(cmp.Compare(k.key(q), k.key(except)), cmp.Compare(q.number, except.number)) >= 0
	})
	if at < from || at >= to || k.sorted[at] != except {
		return k.highest(from, to)
	}
	return k.higher(k.highest(from, at), k.highest(at+1, to))
}

// highest returns the resource that ranks highest among sorted[from:to], or nil.
func (k *ranking) highest(from, to int) *resource {
	var best *resource
	n := len(k.sorted)
	for from, to = from+n, to+n; from < to; from, to = from/2, to/2 {
		if from%2 == 1 {
			best = k.higher(best, k.tree[from])
			from++
		}
		if to%2 == 1 {
			to--
			best = k.higher(best, k.tree[to])
		}
	}
	return best
}
