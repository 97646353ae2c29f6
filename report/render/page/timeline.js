"use strict";
// The timeline of holders: draws the bars of one trial on a canvas, with panning, zooming and
// descriptions of the bars under the pointer. All data is in the page; nothing is fetched. Times
// are in microseconds since the start of the run.
(() => {
  const trials = JSON.parse(document.getElementById("tl-data").textContent);
  const canvas = document.getElementById("tl");
  const text = document.getElementById("tl-text");
  const select = document.getElementById("tl-trial");
  const ctx = canvas.getContext("2d");
  const bottom = 24, top = 6, left = 44;
  let trial, view, rows, rowHeight, pointers = new Map(), grip = null, jump = -1;

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const width = () => canvas.clientWidth;
  const toX = (t) => left + (t - view.from) / (view.to - view.from) * (width() - left - 8);
  const toT = (x) => view.from + (x - left) / (width() - left - 8) * (view.to - view.from);
  const rowY = (client) => top + rows.get(client) * rowHeight;

  function time(us) {
    if (us < 1000) return us.toFixed(0) + " µs";
    if (us < 1e6) return (us / 1000).toPrecision(3) + " ms";
    return (us / 1e6).toPrecision(us < 1e8 ? 3 : 4) + " s";
  }
  const moment = (us) => (us / 1e6).toFixed(us % 1000 ? 6 : 3) + " s";

  function choose(i) {
    trial = trials[i];
    const clients = [...new Set(trial.held.map((h) => h[0]).concat(trial.waits.map((s) => s[1]), trial.overlaps.flatMap((o) => [o[0], o[1]])))].sort((a, b) => a - b);
    rows = new Map(clients.map((c, n) => [c, n]));
    rowHeight = clients.length > 60 ? 7 : clients.length > 25 ? 11 : 18;
    jump = -1;
    all();
    text.textContent = trial.summary;
  }

  function all() {
    const pad = Math.max(1, (trial.to - trial.from) * 0.01);
    view = { from: trial.from - pad, to: trial.to + pad };
    draw();
  }

  function show(from, to) {
    const least = 20, most = (trial.to - trial.from) * 1.02 + 2;
    const span = Math.min(Math.max(to - from, least), most);
    const mid = Math.min(Math.max((from + to) / 2, trial.from), trial.to);
    view = { from: mid - span / 2, to: mid + span / 2 };
    draw();
  }

  function zoom(factor, at = (view.from + view.to) / 2) {
    show(at - (at - view.from) * factor, at + (view.to - at) * factor);
  }

  function step(span) {
    const base = Math.pow(10, Math.floor(Math.log10(span / Math.max(2, width() / 80))));
    return [1, 2, 5, 10].map((m) => m * base).find((v) => span / v <= Math.max(2, width() / 80)) || base * 10;
  }

  function axis(height) {
    ctx.fillStyle = color("faint");
    ctx.textAlign = "center";
    const by = step(view.to - view.from);
    const decimals = Math.max(0, -Math.floor(Math.log10(by / 1e6) + 1e-9));
    for (let t = Math.ceil(view.from / by) * by; t <= view.to; t += by) {
      const x = toX(t);
      if (x < left) continue;
      ctx.fillRect(x, height - bottom, 1, 4);
      const label = (t / 1e6).toFixed(decimals) + " s", half = ctx.measureText(label).width / 2;
      ctx.fillText(label, Math.min(Math.max(x, left + half), width() - half - 2), height - 6);
    }
    ctx.textAlign = "right";
    const every = Math.ceil(12 / rowHeight);
    for (const [client, n] of rows) {
      if (n % every === 0) ctx.fillText(String(client), left - 6, rowY(client) + rowHeight / 2 + 4);
    }
  }

  function bar(from, to, y, height, least) {
    const a = Math.max(toX(from), left), b = Math.min(toX(to), width());
    if (b >= left && a <= width()) ctx.fillRect(a, y, Math.max(b - a, least), height);
  }

  function draw() {
    const height = top + rows.size * rowHeight + bottom, ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width() * ratio);
    canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.font = "12px system-ui, sans-serif";
    const body = rows.size * rowHeight;
    for (const [, , from, to, proven] of trial.faults) {
      ctx.fillStyle = color(proven ? "proven" : "unclear");
      bar(from, to, top, body, 2);
    }
    ctx.fillStyle = color("waits");
    for (const [, client, from, to] of trial.waits) bar(from, to, rowY(client) + rowHeight / 2 - 1.5, 3, 1);
    for (const [client, from, to, reads] of trial.held) {
      ctx.fillStyle = color(reads ? "waits" : "held");
      bar(from, to, rowY(client) + 1, rowHeight - 2, 1);
    }
    for (const [a, b, from, to, exposure] of trial.overlaps) {
      ctx.fillStyle = color(exposure ? "warned" : "alarm");
      for (const c of [a, b]) if (rows.has(c)) bar(from, to, rowY(c) + 1, rowHeight - 2, 3);
    }
    for (const [, client, , to, leaves] of trial.waits) if (leaves) cross(toX(to), rowY(client) + rowHeight / 2);
    axis(height);
  }

  // cross marks the time at which a candidate had to leave.
  function cross(x, y) {
    if (x < left || x > width()) return;
    ctx.strokeStyle = color("ink");
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x - 4, y - 4); ctx.lineTo(x + 4, y + 4);
    ctx.moveTo(x - 4, y + 4); ctx.lineTo(x + 4, y - 4);
    ctx.stroke();
  }

  function under(x, y) {
    const t = toT(x), near = 3 * (view.to - view.from) / width();
    const hit = (from, to) => t >= from - near && t <= to + near;
    const words = [];
    const n = Math.floor((y - top) / rowHeight);
    for (const [a, b, from, to, exposure] of trial.overlaps) {
      if (hit(from, to)) words.push("clients " + a + " and " + b + " held at the same time for " + time(to - from) + " at " + moment(from) + (exposure ? " (exposure)" : ""));
    }
    for (const [client, from, to, reads] of trial.held) {
      if (rows.get(client) === n && hit(from, to)) {
        words.push("client " + client + " held" + (reads ? " (reading)" : "") + " for " + time(to - from) + ", from " + moment(from));
        break;
      }
    }
    for (const [phase, client, from, to, leaves] of trial.waits) {
      if (rows.get(client) === n && hit(from, to)) words.push("client " + client + " waited in line until " + moment(to) + (leaves ? ", when it had to leave" : "") + " (" + phase + ")");
    }
    for (const [fault, target, from, to, proven] of trial.faults) {
      if (hit(from, to)) words.push(fault + " on " + target + (proven ? "" : " (no proof of effect)") + ", for " + time(to - from));
    }
    return words.slice(0, 4).join("; ");
  }

  function next() {
    const marks = trial.overlaps.map((o) => [o[2], o[3]]).concat(trial.faults.map((w) => [w[2], w[3]]));
    if (!marks.length) return void (text.textContent = "This trial has no overlaps or faults.");
    marks.sort((a, b) => a[0] - b[0]);
    jump = (jump + 1) % marks.length;
    const [from, to] = marks[jump], pad = Math.max(to - from, 50000);
    show(from - pad, to + pad);
    text.textContent = (jump + 1) + " of " + marks.length + ": " + (under(toX((from + to) / 2), -1) || moment(from));
  }

  const local = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, local(e)[0]);
    grip = { view, xs: [...pointers.values()] };
  });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = local(e);
    if (!pointers.has(e.pointerId)) return void (text.textContent = under(x, y) || trial.summary);
    pointers.set(e.pointerId, x);
    const xs = [...pointers.values()], per = (grip.view.to - grip.view.from) / (width() - left - 8);
    if (xs.length >= 2 && grip.xs.length >= 2) {
      const before = Math.abs(grip.xs[1] - grip.xs[0]) || 1, now = Math.abs(xs[1] - xs[0]) || 1;
      view = grip.view;
      zoom(before / now, toT((xs[0] + xs[1]) / 2));
    } else {
      const d = (grip.xs[0] - xs[0]) * per;
      show(grip.view.from + d, grip.view.to + d);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => {
    pointers.delete(e.pointerId);
    grip = { view, xs: [...pointers.values()] };
    text.textContent = under(...local(e)) || trial.summary;
  });
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, toT(local(e)[0]));
  }, { passive: false });
  canvas.addEventListener("dblclick", (e) => zoom(0.5, toT(local(e)[0])));
  canvas.addEventListener("keydown", (e) => {
    const d = (view.to - view.from) / 5;
    const act = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), "0": all, "n": next,
      ArrowLeft: () => show(view.from - d, view.to - d), ArrowRight: () => show(view.from + d, view.to + d) }[e.key];
    if (act && !e.ctrlKey && !e.metaKey) { e.preventDefault(); act(); }
  });
  document.getElementById("tl-in").addEventListener("click", () => zoom(0.5));
  document.getElementById("tl-out").addEventListener("click", () => zoom(2));
  document.getElementById("tl-all").addEventListener("click", all);
  document.getElementById("tl-next").addEventListener("click", next);
  trials.forEach((t, i) => select.add(new Option(t.title, i)));
  select.addEventListener("change", () => choose(Number(select.value)));
  window.addEventListener("resize", () => draw());
  for (const media of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(media).addEventListener("change", () => draw());
  document.getElementById("live").hidden = false;
  choose(0);
})();
