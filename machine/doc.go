// Package machine measures how well a computer suits measurements on the real
// clock: how punctually it wakes programs ([Measure]), and how much processor
// time others took from a load ([Meter]). It can keep a virtual machine's
// processors awake ([KeepAwake]), which makes wake-ups punctual.
package machine
