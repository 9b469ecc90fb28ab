//go:build !linux

package devstate

const tethers = false

func tie() error { return nil }
