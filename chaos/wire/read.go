package wire

// backlog is bytes from the server that have not reached the client.
type backlog struct {
	arrived  []byte // as received
	err      error  // the error that followed arrived
	ready    []byte
	cut      *armedRule // cuts the connection once ready is empty
	holdRule *armedRule // keeps arrived until it is released, or nil
	scratch  []byte
}

func (b *backlog) waiting() bool {
	return len(b.arrived) > 0 || len(b.ready) > 0 || b.err != nil || b.cut != nil
}

// readSlow implements Read while a rule is armed, the client is held, or earlier bytes are still in the
// backlog. The caller holds rmu.
func (k *conn) readSlow(b []byte) (int, error) {
	back := &k.back
	if back.scratch == nil {
		back.scratch = make([]byte, 4<<10)
	}
	for {
		if err := k.awaitHoldEnd(); err != nil {
			return 0, err
		}
		k.filterArrived()
		if len(back.ready) > 0 || len(b) == 0 {
			n := copy(b, back.ready)
			back.ready = back.ready[n:]
			k.afterRead(len(back.ready) == 0)
			return n, nil
		}
		if back.cut != nil {
			k.end(ErrCut, back.cut)
			return 0, ErrCut
		}
		if back.holdRule != nil {
			if err := k.clock.wait(back.holdRule.released, k.done); err != nil {
				return 0, err
			}
			continue
		}
		if back.err != nil {
			return 0, k.endOnError(back.err)
		}
		n, err := k.Conn.Read(back.scratch)
		if err = k.keep(back.scratch[:n], err); err != nil {
			return 0, err
		}
	}
}

// keep appends received bytes to the backlog. It returns an error that the client must see at once:
// an expired deadline, unless the client is held.
func (k *conn) keep(p []byte, err error) error {
	k.back.arrived = append(k.back.arrived, p...)
	if err == nil || !isTimeout(err) {
		k.back.err = err
		return nil
	}
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if k.c.hold != nil {
		return nil
	}
	return err
}

func (k *conn) filterArrived() {
	c, back := k.c, &k.back
	c.mu.Lock()
	defer c.mu.Unlock()
	if back.holdRule != nil && !back.holdRule.isReleased && !back.holdRule.done {
		return
	}
	back.holdRule = nil
	if len(back.ready) == 0 {
		back.ready = nil
	}
	emit := func(p []byte) {
		back.ready = append(back.ready, p...)
		c.counts.BytesIn += int64(len(p))
	}
	kept := k.in.run(back.arrived, len(c.armedRules) > 0 || k.cutPending, k.decideReply, emit)
	back.arrived = append(back.arrived[:0], kept...)
	if back.err != nil && !k.cutPending && back.holdRule == nil {
		k.in.run(nil, false, k.decideReply, emit) // the rest of the frame never comes
	}
}

// decideReply returns the decision of a frame for the client. The caller holds c.mu and rmu.
func (k *conn) decideReply(m mark, free bool) decision {
	what := pass
	if m&atHead != 0 && free && k.in.opened && !k.cutPending {
		what = k.decideByRule()
	}
	switch {
	case m&atHead == 0:
	case free && k.cutPending && k.cutRepliedRule == nil:
		what = drop
	case what == pass:
		k.countReply()
	}
	if what != keep {
		k.reply(m)
	}
	return what
}

// decideByRule returns the decision of the rule that waits for the filter's frame. The caller holds c.mu and rmu.
func (k *conn) decideByRule() decision {
	head := k.in.scan.head
	var s *armedRule
	i := k.pending.find(int32At(head, 0))
	switch {
	case int32At(head, 0) == notification:
		s = k.matchNotification(head)
	case i >= 0:
		s = k.pending[i].armed
	}
	if s == nil || s.done {
		return pass
	}
	s.proof.Replied, s.proof.Zxid, s.proof.Code = i >= 0, int64At(head, 4), int32At(head, 12)
	switch s.rule.Act {
	case HoldReply:
		s.fire(nil)
		if s.isReleased {
			s.retire()
			return pass
		}
		k.back.holdRule = s
		return keep
	case CutReplied:
		k.cutPending, k.cutRepliedRule = true, s
		return pass
	case CutBefore: // a notification
		k.cutPending, k.back.cut = true, s
		return drop
	}
	k.dropReply(s, i)
	return drop
}

// dropReply drops the reply to the i-th pending request. The caller holds c.mu and rmu.
func (k *conn) dropReply(s *armedRule, i int) {
	k.replyLost(&k.pending[i])
	k.pending.remove(i)
	if s.rule.Keep {
		s.fire(nil)
		s.retire()
	} else {
		k.cutPending, k.back.cut = true, s
	}
}
