package main

import "context"

func simulateAll(ctx context.Context) error { return nil }
