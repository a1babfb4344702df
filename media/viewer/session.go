package viewer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
)

// session is a session that the player has ordered.
type session struct {
	number int
	ctx    context.Context // covers everything done for the session
	cancel context.CancelFunc
	open   *transport.Session // nil until it is open
	left   bool               // the session is no longer needed
	state  record.Session     // once it has been left

	moving   sync.Mutex         // held during a migration
	stopMove context.CancelFunc // nil until it is
}

// connect opens the next session from the host's present address.
func (v *viewing) connect() {
	if n := len(v.sessions); n > 0 {
		v.leave(v.sessions[n-1])
	}
	s := &session{number: len(v.sessions) + 1}
	s.ctx, s.cancel = context.WithCancel(v.ctx)
	v.sessions = append(v.sessions, s)
	locals := v.addresses()
	v.work.Go(func() {
		opened, err := v.Client.Connect(s.ctx, locals...)
		taken := v.tell(func(now time.Duration) {
			switch {
			case err != nil:
				v.player.Lost(now, s.number, err)
			case s.left:
				v.close(s, opened)
			default:
				s.open = opened
				v.player.Connected(now, s.number)
			}
		})
		if !taken && err == nil {
			_ = opened.Close()
		}
	})
}

// leave ends a session, whatever it is doing.
func (v *viewing) leave(s *session) {
	if s.left {
		return
	}
	s.left = true
	if s.open == nil {
		s.cancel()
		return
	}
	known := s.open.State()
	s.state = record.Session{SetUp: known.SetUp, Local: known.Local, Resumed: known.Resumed, EarlyData: known.EarlyData}
	v.close(s, s.open)
}

// close closes a session while the viewing continues. Its pending requests fail with it, so
// the server need not be told that each is cancelled. Errors of closing are ignored.
func (v *viewing) close(s *session, open *transport.Session) {
	v.work.Go(func() {
		_ = open.Close()
		s.cancel()
	})
}

// lose handles the end of a session.
func (v *viewing) lose(now time.Duration, s *session, why error) {
	v.leave(s)
	v.player.Lost(now, s.number, why)
}

// move migrates a session to the host's current address and aborts an unfinished earlier
// migration.
func (v *viewing) move(s *session) {
	if s.stopMove != nil {
		s.stopMove()
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.stopMove = stop
	to := v.Links[v.active].Address
	v.work.Go(func() {
		s.moving.Lock()
		defer s.moving.Unlock()
		if ctx.Err() != nil {
			return
		}
		err := s.open.Migrate(ctx, to)
		v.tell(func(now time.Duration) {
			switch {
			case ctx.Err() != nil: // a newer migration has replaced this one
			case err != nil:
				v.lose(now, s, err)
			default:
				v.player.Moved(now, s.number)
			}
		})
	})
}

// readSize is how many octets are read at once, the longest SCTP message.
const readSize = 1 << 16

// ask makes a request.
func (v *viewing) ask(s *session, o player.Order) {
	ctx, cancel := context.WithCancel(s.ctx)
	v.cancel[o.Request] = cancel
	piece := storage.ID{Item: v.Media, Resolution: storage.Resolution(o.Resolution), Segment: uint32(o.Segment)}
	v.work.Go(func() {
		err := v.fetch(ctx, s, o.Request, transport.Request{ID: piece, Offset: o.Offset, Length: o.Length})
		if err != nil && ctx.Err() == nil {
			v.tell(func(now time.Duration) { v.fail(now, s, o.Request, err) })
		}
		cancel()
	})
}

// fail reports an error to the player.
func (v *viewing) fail(now time.Duration, s *session, request int, err error) {
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, errWrong):
		v.player.End(now, err)
	case errors.Is(err, transport.ErrUnread): // closed because an earlier request was cancelled
		v.lose(now, s, nil)
	case errors.Is(err, transport.ErrClosed), errors.Is(err, transport.ErrSilent):
		v.lose(now, s, err)
	default:
		v.player.Failed(now, request, err)
	}
}

// errWrong says that the server sent octets that were not requested.
var errWrong = errors.New("the server sent data that was not requested")

// fetch makes a request and receives the response.
func (v *viewing) fetch(ctx context.Context, s *session, number int, r transport.Request) error {
	response, err := s.open.Request(ctx, r)
	if errors.Is(err, storage.ErrPastEnd) {
		v.tell(func(now time.Duration) { v.player.PastEnd(now, number, int(response.Segments)) })
		return nil
	}
	if err != nil {
		return err
	}
	defer response.Close()
	if !v.tell(func(now time.Duration) { v.player.Answered(now, number, response.Size, int(response.Segments)) }) {
		return nil
	}
	buffer := make([]byte, readSize)
	for offset := r.Offset; ; {
		n, err := response.Read(buffer)
		if n > 0 {
			if wrong := v.check(r.ID, offset, buffer[:n]); wrong != nil {
				return wrong
			}
			offset += int64(n)
			if !v.tell(func(now time.Duration) { v.player.Received(now, number, int64(n)) }) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (v *viewing) check(piece storage.ID, offset int64, octets []byte) error {
	if v.Check == nil {
		return nil
	}
	if err := v.Check(piece, offset, octets); err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	return nil
}
