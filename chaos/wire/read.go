package wire

// backlog is what came from the server and has not gone to the client.
type backlog struct {
	arrived []byte // as it came
	err     error  // that came behind it
	ready   []byte // what of it is to go to the client
	cut     *Shot  // cuts the connection once ready is empty
	scratch []byte
}

func (b *backlog) waiting() bool {
	return len(b.arrived) > 0 || len(b.ready) > 0 || b.err != nil || b.cut != nil
}

// readSlow is Read while a rule is in force, the client is held, or bytes of that time
// are left. The caller holds rmu.
func (k *conn) readSlow(b []byte) (int, error) {
	back := &k.back
	if back.scratch == nil {
		back.scratch = make([]byte, 4<<10)
	}
	for {
		if err := k.awaitThaw(); err != nil {
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
		if back.err != nil {
			return 0, k.failed(back.err)
		}
		n, err := k.Conn.Read(back.scratch)
		if err = k.keep(back.scratch[:n], err); err != nil {
			return 0, err
		}
	}
}

// keep puts what was read on the backlog. It returns an error that the client
// must see at once: a deadline that passed, unless the client is deaf.
func (k *conn) keep(p []byte, err error) error {
	k.back.arrived = append(k.back.arrived, p...)
	if err == nil || !isTimeout(err) {
		k.back.err = err
		return nil
	}
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if h := k.c.hold; h != nil && h.mode == Deaf {
		return nil
	}
	return err
}

// filterArrived runs what arrived through the filter.
func (k *conn) filterArrived() {
	c, back := k.c, &k.back
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(back.ready) == 0 {
		back.ready = nil // so that append does not creep through memory
	}
	emit := func(p []byte) {
		back.ready = append(back.ready, p...)
		c.counts.BytesIn += int64(len(p))
	}
	ended := func() {}
	k.in.run(back.arrived, len(c.shots) > 0 || k.mute, k.decideReply, emit, ended)
	back.arrived = back.arrived[:0]
	if back.err != nil && !k.mute {
		k.in.run(nil, false, k.decideReply, emit, ended) // the rest of the frame never comes
	}
}

// decideReply decides what becomes of a frame for the client. The caller holds
// c.mu and rmu.
func (k *conn) decideReply(m mark, free bool) fate {
	defer k.reply(m)
	if m&atHead == 0 {
		return pass
	}
	if free && k.mute {
		return drop
	}
	if free && k.in.opened && k.swallow() {
		return drop
	}
	k.deliver()
	return pass
}

// swallow keeps the reply in the filter from the client if a rule waits for it. The caller holds c.mu and rmu.
func (k *conn) swallow() bool {
	head, c := k.in.scan.head(), k.c
	i, ok := k.pending.find(int32At(head, 0))
	if !ok {
		return false
	}
	s := k.pending.at(i).shot
	if s == nil || s.done {
		return false
	}
	k.pending.remove(i)
	c.counts.InFlight--
	c.counts.Abandoned++
	s.proof.Replied, s.proof.Zxid, s.proof.Code = true, int64At(head, 4), int32At(head, 12)
	if s.rule.Keep {
		s.fire(nil)
		s.retire()
	} else {
		k.mute, k.back.cut = true, s
	}
	return true
}
