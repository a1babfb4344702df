package site

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"wiretime/costtest"
)

// packed returns the files of threeOrigins as an archive.
func packed(tb testing.TB) (manifest, pack, encoded []byte) {
	tb.Helper()
	s := &Site{Name: "packed", Page: "https://www.packed.test/", Hosts: []Host{{"www.packed.test", "2001:db8::1", 3.5}}, bodies: map[string][]byte{}}
	s.addResource(s.Page, []Header{{"content-type", "text/html"}}, []byte("page"))
	s.addResource("https://cdn.packed.test/x?y", nil, nil)
	s.Resources[1].Preload, s.Resources[1].Wait, s.Resources[1].Made = []string{s.Page}, 1.5, true
	var b bytes.Buffer
	x := index{site: s}
	var err error
	x.spans, x.packSize, err = writePack(&b, []string{s.Resources[0].Body, s.Resources[1].Body}, func(hash string) ([]byte, error) { return s.bodies[hash], nil })
	if err == nil {
		manifest, err = s.encode()
	}
	if err == nil {
		encoded, err = encodeIndex(manifest, x)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return manifest, b.Bytes(), encoded
}

// FuzzReadIndex reads forged indexes with correct sums. No index may lead out of the file
// bodies or bypass the checks of site.json.
func FuzzReadIndex(f *testing.F) {
	_, pack, encoded := packed(f)
	whole := encoded[indexHead:]
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte{})
	f.Add(binary.AppendUvarint(nil, 1<<63)) // a negative size
	for _, count := range []int{0, 1 << 20, 1 << 62} {
		f.Add(binary.AppendUvarint([]byte{100}, uint64(count)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var x index
		var err error
		costtest.Check(t, len(data), cost, func() { x, err = readIndex(data) })
		if err != nil {
			return
		}
		if err := x.site.build(); err != nil {
			return
		}
		if err := x.site.place(pack, x.spans); err != nil {
			return
		}
		text, err := x.site.encode()
		if err != nil {
			t.Fatalf("site.json cannot express an accepted index: %v", err)
		}
		parsed, _, err := parseManifest(text)
		if err != nil {
			t.Fatalf("site.json with the content of an accepted index is rejected: %v", err)
		}
		if len(parsed.Resources) > 0 && !reflect.DeepEqual(parsed.Resources, x.site.Resources) {
			t.Errorf("the index holds\n%+v and site.json\n%+v", x.site.Resources, parsed.Resources)
		}
		for i := range x.site.Resources {
			r := &x.site.Resources[i]
			if body, err := x.site.Body(r); err != nil || int64(len(body)) != r.Size {
				t.Errorf("%s: %d octets, %v", r.URL, len(body), err)
			}
			x.site.Respond(r.Method, "a.test", "/")
		}
		x.site.Problems()
	})
}

// FuzzDecodeIndex reads whole files.
func FuzzDecodeIndex(f *testing.F) {
	manifest, _, encoded := packed(f)
	f.Add(encoded)
	f.Add(encoded[:indexHead])
	f.Add([]byte(indexMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeIndex(manifest, data); err == nil && !bytes.Equal(data, encoded) {
			t.Error("a random index has the right sums")
		}
	})
}

func FuzzScanPack(f *testing.F) {
	_, pack, _ := packed(f)
	f.Add(pack)
	f.Add(pack[:len(pack)-3])
	f.Add(append(pack[:packHead:packHead], bytes.Repeat([]byte{0xff}, packEntry)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		spans, err := scanPack(data)
		if err != nil {
			return
		}
		s := &Site{Name: "fuzz"}
		if err := s.place(data, spans); err != nil {
			t.Fatal(err)
		}
		end := int64(packHead)
		for _, b := range spans {
			if !isHash(b.hash) || b.offset < end+packEntry || b.offset%packAlign != 0 {
				t.Errorf("body %+v after octet %d", b, end)
			}
			end = b.offset + b.size
		}
		if end > int64(len(data)) {
			t.Errorf("the last body ends at octet %d of %d", end, len(data))
		}
	})
}
