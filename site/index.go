package site

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// The file index holds what site.json and bodies say in a form that is quick to read:
// indexMagic, the SHA-256 of site.json, the SHA-256 of the rest, and then numbers (unsigned
// LEB128) and texts (length and octets) in the order of appendSite. The file is derived: an
// archive without it opens too, more slowly. Its content is checked like that of site.json.
const (
	indexMagic = "wiretime site index 4\n"
	indexHead  = len(indexMagic) + 2*sha256.Size
)

// index is the content of the file index.
type index struct {
	site     *Site
	spans    []span
	packSize int64 // size of the file bodies, octets
}

// encodeIndex encodes the index for a site.json.
func encodeIndex(manifest []byte, x index) ([]byte, error) {
	b := make([]byte, indexHead, 64*1024)
	w := indexWriter{b: b, numbers: make(map[string]int, len(x.spans))}
	w.number(uint64(x.packSize))
	w.number(uint64(len(x.spans)))
	for i, s := range x.spans {
		w.numbers[s.hash] = i
		w.text(s.hash)
		w.number(uint64(s.offset))
		w.number(uint64(s.size))
	}
	if err := w.site(x.site); err != nil {
		return nil, err
	}
	b = w.b
	copy(b, indexMagic)
	described := sha256.Sum256(manifest)
	copy(b[len(indexMagic):], described[:])
	content := sha256.Sum256(b[indexHead:])
	copy(b[len(indexMagic)+sha256.Size:], content[:])
	return b, nil
}

type indexWriter struct {
	b       []byte
	numbers map[string]int // of the spans, by hash
}

func (w *indexWriter) number(n uint64)    { w.b = binary.AppendUvarint(w.b, n) }
func (w *indexWriter) fraction(f float64) { w.number(math.Float64bits(f)) }

func (w *indexWriter) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *indexWriter) texts(list []string) {
	w.number(uint64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

func (w *indexWriter) site(s *Site) error {
	recorded, err := s.Recorded.MarshalText()
	if err != nil {
		return err
	}
	for _, text := range []string{s.Name, s.Title, s.Source, s.Page, string(recorded)} {
		w.text(text)
	}
	w.texts(s.Journey)
	w.texts(s.Tabs)
	w.number(uint64(len(s.Hosts)))
	for _, h := range s.Hosts {
		w.text(h.Name)
		w.text(h.Address)
		w.fraction(h.RTT)
	}
	fields := 0
	for i := range s.Resources {
		fields += len(s.Resources[i].Header)
	}
	w.number(uint64(len(s.Resources)))
	w.number(uint64(fields))
	for i := range s.Resources {
		w.resource(&s.Resources[i])
	}
	return nil
}

// The flags of a resource.
const (
	flagMade = 1 << iota
	flagEarly
	flagLate
	flagAfterLoad
)

func (w *indexWriter) resource(r *Resource) {
	w.text(r.Method)
	w.text(r.URL)
	w.number(uint64(r.Status))
	w.number(uint64(len(r.Header)))
	for _, h := range r.Header {
		w.text(h.Name)
		w.text(h.Value)
	}
	w.number(uint64(w.numbers[r.Body]))
	w.text(r.Initiator)
	w.text(r.Kind)
	w.number(uint64(r.Line))
	w.number(uint64(r.Step))
	for _, ms := range []float64{r.CPU, r.Delay, r.Wait} {
		w.fraction(ms)
	}
	flags := uint64(0)
	if r.Made {
		flags |= flagMade
	}
	if r.Early {
		flags |= flagEarly
	}
	if r.Late {
		flags |= flagLate
	}
	if r.AfterLoad {
		flags |= flagAfterLoad
	}
	w.number(flags)
	w.texts(r.Preload)
	w.texts(r.Push)
}

var (
	errStale   = errors.New("the index belongs to another site.json")
	errDamaged = errors.New("the index is damaged")
)

// decodeIndex reverses encodeIndex, for foreign octets. The site that it returns is neither
// checked nor arranged and has no bodies. The error is errStale if the index belongs to
// another site.json, and errDamaged if its own sum does not match.
func decodeIndex(manifest, data []byte) (index, error) {
	if len(data) < indexHead || string(data[:len(indexMagic)]) != indexMagic {
		return index{}, errDamaged
	}
	if sum := sha256.Sum256(manifest); string(sum[:]) != string(data[len(indexMagic):][:sha256.Size]) {
		return index{}, errStale
	}
	if sum := sha256.Sum256(data[indexHead:]); string(sum[:]) != string(data[indexHead-sha256.Size:indexHead]) {
		return index{}, errDamaged
	}
	return readIndex(data[indexHead:])
}

// readIndex reads what follows the sums.
func readIndex(data []byte) (index, error) {
	r := indexReader{data: data, all: string(data)}
	x := index{packSize: int64(r.number())}
	for range r.count(3) {
		x.spans = append(x.spans, span{r.text(), int64(r.number()), int64(r.number())})
	}
	x.site = r.site(x.spans)
	if r.at != len(r.data) {
		r.failed = true
	}
	if r.failed {
		return index{}, fmt.Errorf("%w at octet %d", errDamaged, r.at)
	}
	return x, nil
}

// indexReader reads numbers and texts. After a failure every read returns zero.
type indexReader struct {
	data   []byte
	all    string // the same octets; texts are slices of it
	at     int
	failed bool
}

func (r *indexReader) number() uint64 {
	n, size := binary.Uvarint(r.data[r.at:])
	if r.failed || size <= 0 {
		r.failed = true
		return 0
	}
	r.at += size
	return n
}

func (r *indexReader) fraction() float64 { return math.Float64frombits(r.number()) }

func (r *indexReader) text() string {
	n := r.number()
	if n > uint64(len(r.all)-r.at) {
		r.failed = true
		return ""
	}
	s := r.all[r.at : r.at+int(n)]
	r.at += int(n)
	return s
}

// count reads the length of a list whose entries have at least size octets each, so that a
// wrong number cannot make the reader allocate more memory than the file justifies.
func (r *indexReader) count(size int) int {
	n := r.number()
	if n > uint64((len(r.data)-r.at)/size) {
		r.failed = true
		return 0
	}
	return int(n)
}

func (r *indexReader) texts() []string {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *indexReader) site(spans []span) *Site {
	s := &Site{Name: r.text(), Title: r.text(), Source: r.text(), Page: r.text()}
	if err := s.Recorded.UnmarshalText([]byte(r.text())); err != nil {
		r.failed = true
	}
	s.Journey, s.Tabs = r.texts(), r.texts()
	for range r.count(3) {
		s.Hosts = append(s.Hosts, Host{Name: r.text(), Address: r.text(), RTT: r.fraction()})
	}
	resources := r.count(14)
	fields := make([]Header, 0, r.count(2))
	s.Resources = make([]Resource, resources)
	for i := range s.Resources {
		if fields = r.resource(&s.Resources[i], spans, fields); r.failed {
			break
		}
	}
	return s
}

// resource reads one resource; its fields are the last of the returned ones.
func (r *indexReader) resource(to *Resource, spans []span, fields []Header) []Header {
	to.Method, to.URL, to.Status = r.text(), r.text(), int(r.number())
	first := len(fields)
	for range r.count(2) {
		fields = append(fields, Header{r.text(), r.text()})
	}
	if len(fields) > first {
		to.Header = slices.Clip(fields[first:])
	}
	if body := r.number(); body < uint64(len(spans)) {
		to.Body, to.Size = spans[body].hash, spans[body].size
	} else {
		r.failed = true
	}
	to.Initiator, to.Kind = r.text(), r.text()
	to.Line = int(min(r.number(), math.MaxInt32))
	to.Step = int(min(r.number(), math.MaxInt32))
	to.CPU, to.Delay, to.Wait = r.fraction(), r.fraction(), r.fraction()
	flags := r.number()
	to.Made, to.Early = flags&flagMade != 0, flags&flagEarly != 0
	to.Late, to.AfterLoad = flags&flagLate != 0, flags&flagAfterLoad != 0
	to.Preload, to.Push = r.texts(), r.texts()
	return fields
}
