package emulator

import (
	"errors"
	"fmt"
	"os"

	"wiretime/capture"
	"wiretime/network"
)

// recorder writes the capture. A nil recorder records nothing.
type recorder struct {
	file   *os.File
	buffer []byte
	block  int // octets that are buffered before they are written
	keep   Keep
	kept   int   // records
	missed int64 // records past keep.Packets
	most   int64 // octets of the file; 0: no limit
	wrote  int64 // octets so far
	err    error
}

// These are the sizes of the blocks that are written. The buffer is twice that, so that writing
// can wait for an idle moment. A fast link has no idle moments: there, a small block is written
// in less time, and from the processor's cache. In virtual time neither matters.
const (
	realBlock    = 64 << 10
	virtualBlock = 256 << 10
)

func newRecorder(file *os.File, block int, interfaces []capture.Interface, c config) *recorder {
	header := capture.Header{Application: "wiretime", Comment: c.Comment, Interfaces: interfaces}
	return &recorder{file: file, block: block, keep: c.Keep, most: c.Most, buffer: capture.AppendHeader(make([]byte, 0, 2*block+2*maxPacket), header)}
}

// interfaces are those of a path's capture. With a third node they are those of all access links, since its own comes
// after them.
func (l *loop) interfaces(accesses int) (list []capture.Interface) {
	if l.node != nil {
		accesses = len(l.links) / 2
	}
	for i := range accesses {
		list = append(list, capture.Interface{Name: fmt.Sprintf("client.%d", i)}, capture.Interface{Name: fmt.Sprintf("server.%d", i)})
	}
	if l.node != nil {
		list = append(list, capture.Interface{Name: capture.NodeInterface})
	}
	return list
}

func (r *recorder) sent(k *link, at int64, number uint64, fate network.Fate, data []byte) {
	if r == nil {
		return
	}
	p := capture.PacketRecord{Interface: k.sender, Time: at, ID: number, Length: len(data), Data: data}
	if fate != network.Delivered {
		p.Comment = dropComment[fate]
	}
	r.add(&p)
}

func (r *recorder) received(k *link, at int64, number uint64, late int64, data []byte) {
	if r == nil {
		return
	}
	p := capture.PacketRecord{Interface: k.receiver, Time: at, Inbound: true, ID: number, Lateness: late, HasLateness: true, Length: len(data), Data: data}
	r.add(&p)
}

func (r *recorder) add(p *capture.PacketRecord) {
	if r.keep.Packets > 0 && r.kept == r.keep.Packets {
		r.missed++
		return
	}
	r.kept++
	if r.keep.Octets > 0 && len(p.Data) > r.keep.Octets {
		p.Data = p.Data[:r.keep.Octets]
	}
	r.buffer = capture.AppendPacket(r.buffer, p)
	r.flush(2 * r.block)
}

// flushIfIdle writes buffered records if the next packet is far off.
func (r *recorder) flushIfIdle(next int64) {
	if r != nil && len(r.buffer) >= r.block && (next == 0 || next-now() > 2_000_000) {
		r.flush(r.block)
	}
}

func (r *recorder) flush(above int) {
	if len(r.buffer) < above {
		return
	}
	r.wrote += int64(len(r.buffer))
	if r.err == nil && r.most > 0 && r.wrote > r.most {
		r.err = errors.New(Outgrown)
	}
	if r.err == nil {
		_, r.err = r.file.Write(r.buffer)
	}
	r.buffer = r.buffer[:0]
}

func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.flush(0)
	return errors.Join(r.err, r.file.Close())
}

// dropComment holds prepared packet comments, so that none is formatted while packets wait.
var dropComment = comments(network.LostRandom, network.DroppedQueue, network.DroppedOutage, network.DroppedHandover, network.DroppedBinding)

func comments(fates ...network.Fate) map[network.Fate]string {
	c := make(map[network.Fate]string, len(fates))
	for _, f := range fates {
		c[f] = capture.DroppedPrefix + f.String()
	}
	return c
}
