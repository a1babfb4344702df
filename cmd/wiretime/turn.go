package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// How batches of this user's workers may share the machine, as flock(2) has it.
const (
	besideOthers = unix.LOCK_SH // guests, which disturb each other in nothing that is measured
	alone        = unix.LOCK_EX // loads on the real clock
)

// takeTurn waits until a batch may use the machine, and returns what ends its turn. Whoever waits to be alone waits for those
// that have begun, and those that come later wait for it.
func takeTurn(ctx context.Context, how int) (end func(), err error) {
	fail := func(err error) (func(), error) { return nil, fmt.Errorf("take turns on this machine: %w", err) }
	cache, err := os.UserCacheDir()
	if err != nil {
		return fail(err)
	}
	dir := filepath.Join(cache, "wiretime", "turns")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	queue, err := lockFile(ctx, filepath.Join(dir, "queue"), unix.LOCK_EX)
	if err != nil {
		return fail(err)
	}
	defer queue.Close()
	turn, err := lockFile(ctx, filepath.Join(dir, "machine"), how)
	if err != nil {
		return fail(err)
	}
	return func() { _ = turn.Close() }, nil // which unlocks it
}

// lockEvery is how often somebody who waits for a lock looks whether it is free: seldom, because it disturbs who has it.
const lockEvery = 100 * time.Millisecond

func lockFile(ctx context.Context, name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(lockEvery):
		}
	}
}
