package flowcontrol

import "wiretime/protection"

func (c *conversation) readQUIC(keys protection.KeyLog) {}
