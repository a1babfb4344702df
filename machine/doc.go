// Package machine measures how well a computer suits measurements on the real
// clock: how punctually it wakes programs ([Measure]), how much processor
// time others took from a load ([Meter]), and whether they set the clock ([ClockWatch]). It can keep a virtual machine's
// processors awake ([KeepAwake]), which makes wake-ups punctual. It also reads what processes use: processor time
// and memory ([Used]), and system calls ([CountCalls]).
package machine
