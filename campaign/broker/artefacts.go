package broker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	chunkOctets = 128 << 10 // as nats.go has it
	mostPending = 32        // chunks on their way at a time: 4 MiB
)

// The subjects of an object's chunks and of its description, as nats.go has them (ADR-20 of NATS).
func chunkSubject(id string) string { return "$O." + ArtefactBucket + ".C." + id }
func metaSubject(name string) string {
	return metaSubjects + base64.URLEncoding.EncodeToString([]byte(name))
}

const metaSubjects = "$O." + ArtefactBucket + ".M."

// PutArtefact puts an object into ArtefactBucket and returns its name: the SHA-256 of its content in hexadecimal. It needs
// no right but to publish there: unlike Put of an object store it neither looks for an older object of this name nor
// removes one. GetArtefact reads it, and so does nats object get. IsFull tells the error when the bucket has no room.
// What a broken upload leaves is for SweepArtefacts.
func PutArtefact(ctx context.Context, js jetstream.JetStream, content io.Reader) (name string, err error) {
	if name, err = putArtefact(ctx, js, content); err != nil {
		return "", fmt.Errorf("put artefacts into the object store: %w", err)
	}
	return name, nil
}

func putArtefact(ctx context.Context, js jetstream.JetStream, content io.Reader) (string, error) {
	info := jetstream.ObjectInfo{Bucket: ArtefactBucket, NUID: rand.Text()}
	info.Opts = &jetstream.ObjectMetaOptions{ChunkSize: chunkOctets}
	hash := sha256.New()
	var pending []jetstream.PubAckFuture
	for more := true; more; {
		chunk := make([]byte, chunkOctets)
		n, err := io.ReadFull(content, chunk)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return "", err
		}
		if more = err == nil; n == 0 {
			break
		}
		hash.Write(chunk[:n])
		info.Size += uint64(n)
		info.Chunks++
		if len(pending) == mostPending {
			if err := stored(ctx, pending[0]); err != nil {
				return "", err
			}
			pending = pending[1:]
		}
		future, err := js.PublishMsgAsync(&nats.Msg{Subject: chunkSubject(info.NUID), Data: chunk[:n]})
		if err != nil {
			return "", err
		}
		pending = append(pending, future)
	}
	for _, future := range pending {
		if err := stored(ctx, future); err != nil {
			return "", err
		}
	}
	info.Name = hex.EncodeToString(hash.Sum(nil))
	info.Digest = jetstream.GetObjectDigestValue(hash)
	text, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	// The description comes last: an object that has one is whole.
	_, err = js.Publish(ctx, metaSubject(info.Name), text)
	return info.Name, err
}

// ArtefactRoom returns how many octets ArtefactBucket can take at this moment, and how many it has in all; -1 stands for as
// many as the server has.
func ArtefactRoom(ctx context.Context, js jetstream.JetStream) (left, all int64, err error) {
	stream, err := js.Stream(ctx, "OBJ_"+ArtefactBucket)
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the room in the object store: %w", err)
	}
	info := stream.CachedInfo()
	if info.Config.MaxBytes < 0 {
		return -1, -1, nil
	}
	return max(0, info.Config.MaxBytes-int64(info.State.Bytes)), info.Config.MaxBytes, nil
}

// OctetsInRoom returns how much room an artefact of so many octets takes, at most: its chunks have subjects, and it has a
// description.
func OctetsInRoom(octets int64) int64 {
	return octets + (octets/chunkOctets+1)*chunkRoom + descriptionRoom
}

const (
	chunkRoom       = 256
	descriptionRoom = 4 << 10
)

// stored waits until the server has stored a message.
func stored(ctx context.Context, future jetstream.PubAckFuture) error {
	select {
	case <-future.Ok():
		return nil
	case err := <-future.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrNoArtefact says that ArtefactBucket has no object whose content has the SHA-256 in its name.
var ErrNoArtefact = errors.New("no object there has this SHA-256")

// GetArtefact writes an object of ArtefactBucket into a file, from its beginning. Objects are foreign: one that is larger
// than most octets, cut off or not what its name says is passed over. Several workers may have put objects by the same name,
// so a bad one does not hide a good one. The error is ErrNoArtefact if there is no good one.
func GetArtefact(ctx context.Context, js jetstream.JetStream, name string, file *os.File, most int64) error {
	stream, err := js.Stream(ctx, "OBJ_"+ArtefactBucket)
	if err != nil {
		return fmt.Errorf("get the artefacts %s from the object store: %w", name, err)
	}
	for description, err := range messages(ctx, stream, metaSubject(name)) {
		if err == nil {
			var good bool
			if good, err = getVersion(ctx, stream, description.Data, name, file, most); good {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("get the artefacts %s from the object store: %w", name, err)
		}
	}
	return fmt.Errorf("get the artefacts %s from the object store: %w", name, ErrNoArtefact)
}

// getVersion writes one of the objects by a name into a file, and tells whether it is what its name says.
func getVersion(ctx context.Context, stream jetstream.Stream, description []byte, name string, file *os.File, most int64) (bool, error) {
	id := chunksOf(description)
	if id == "" {
		return false, nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if err := file.Truncate(0); err != nil {
		return false, err
	}
	hash, octets := sha256.New(), int64(0)
	for chunk, err := range messages(ctx, stream, chunkSubject(id)) {
		if err != nil {
			return false, err
		}
		if octets += int64(len(chunk.Data)); octets > most {
			return false, nil
		}
		hash.Write(chunk.Data)
		if _, err := file.Write(chunk.Data); err != nil {
			return false, err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)) == name, nil
}

// messages are those of a stream with a subject, the oldest first. Wildcards stand for any.
func messages(ctx context.Context, stream jetstream.Stream, subject string) iter.Seq2[*jetstream.RawStreamMsg, error] {
	return func(yield func(*jetstream.RawStreamMsg, error) bool) {
		for next := uint64(1); ; {
			m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if !yield(m, err) || err != nil {
				return
			}
			next = m.Sequence + 1
		}
	}
}

// DeleteArtefact removes all objects with a name from ArtefactBucket. It succeeds if there are none. Only a coordinator
// may do so.
func DeleteArtefact(ctx context.Context, js jetstream.JetStream, name string) error {
	stream, err := js.Stream(ctx, "OBJ_"+ArtefactBucket)
	if err != nil {
		return fmt.Errorf("delete the artefacts %s from the object store: %w", name, err)
	}
	for description, err := range messages(ctx, stream, metaSubject(name)) {
		if err == nil {
			err = deleteVersion(ctx, stream, description)
		}
		if err != nil {
			return fmt.Errorf("delete the artefacts %s from the object store: %w", name, err)
		}
	}
	return nil
}

// deleteVersion removes chunks before their description: a deletion that broke off can be repeated.
func deleteVersion(ctx context.Context, stream jetstream.Stream, description *jetstream.RawStreamMsg) error {
	if id := chunksOf(description.Data); id != "" {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(chunkSubject(id))); err != nil {
			return err
		}
	}
	if err := stream.DeleteMsg(ctx, description.Sequence); !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return err
	}
	return nil
}

// chunksOf returns the last word of the subject of an object's chunks, or "" if the description is not one. Workers
// write descriptions, so this is a foreign word: it must stay one.
func chunksOf(description []byte) string {
	var info jetstream.ObjectInfo
	if json.Unmarshal(description, &info) != nil || !isWord(info.NUID, 60) {
		return ""
	}
	return info.NUID
}

// SweepArtefacts removes the chunks in ArtefactBucket that no object has and to which nothing was added for the given
// time: what uploads left that broke off. It returns how many uploads these were. Only a coordinator may do so.
func SweepArtefacts(ctx context.Context, js jetstream.JetStream, age time.Duration) (int, error) {
	removed, err := sweepArtefacts(ctx, js, age)
	if err != nil {
		return removed, fmt.Errorf("sweep the object store: %w", err)
	}
	return removed, nil
}

func sweepArtefacts(ctx context.Context, js jetstream.JetStream, age time.Duration) (removed int, err error) {
	stream, err := js.Stream(ctx, "OBJ_"+ArtefactBucket)
	if err != nil {
		return 0, err
	}
	// Chunks are listed before descriptions: an upload that ends in between is not taken for a broken one.
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(chunkSubject(">")))
	if err != nil {
		return 0, err
	}
	chunks := info.State.Subjects
	for description, err := range messages(ctx, stream, metaSubjects+">") {
		if err != nil {
			return 0, err
		}
		delete(chunks, chunkSubject(chunksOf(description.Data)))
	}
	for subject := range chunks {
		last, err := stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return removed, err
		}
		if info.TimeStamp.Sub(last.Time) < age {
			continue
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
