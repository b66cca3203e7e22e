// What messages and collectives cost under LogGPS: loggps/model.py and loggps/algorithms/edges.py, term by term in their order, so that
// every sum is rounded as there. A row of costs: L, o_s, o_r, g, G, O_s, O_r, s.
const LIVE_L = 0, LIVE_G = 4, LIVE_ROW = 8;

// The whole number nearest to one from 0 to 2^52, half to even.
function liveRound(ns) { return ns + 4503599627370496 - 4503599627370496; }

// value * now / old, rounded once; value + now where the old model had nothing to say.
function liveScaled(value, old, now) { return old > 0 ? liveRound(value * (now / old)) : value + now; }

// The costs of a model, or of it with other values of L and G for all messages.
function liveCosts(model, changes) {
  const rows = model.costs.map((row) => row.map((value, k) => k === LIVE_L && changes.L !== undefined ? changes.L : k === LIVE_G && changes.G !== undefined ? changes.G : value));
  const handshake = (c) => model.acknowledgements * (c[1] + c[2]) / 2 + c[0];
  const way = (c, k) => {
    const after = Math.max(k - 1, 0), gaps = c[7] > 0 ? Math.floor(after / Math.max(c[7], 1)) : 0;
    return c[1] + k * c[5] + (c[0] + c[4] * after + c[3] * gaps);
  };
  const costs = {
    ready: (row, k, hands) => liveRound(hands ? rows[row][1] + rows[row][0] : way(rows[row], k)),
    request: (row, k) => model.posted ? costs.ready(row, k, 0) : liveRound(rows[row][1] + rows[row][0]),
    send: (row, k, hands) => {
      const c = rows[row], eager = c[1] + k * c[5];
      return liveRound(hands ? handshake(c) + eager : eager);
    },
    receive: (row, k, hands) => {
      const c = rows[row], eager = c[2] + k * c[6], message = way(c, k) + eager;
      return liveRound(hands ? model.requests * c[2] + handshake(c) + message : eager);
    },
    postSend: (row) => liveRound(rows[row][1]),
    postReceive: (row) => liveRound(rows[row][2]),
    gap: (row, k) => liveRound(rows[row][3] + rows[row][4] * Math.max(k - 1, 0)),
    edge: (what, row, k, hands) => {
      const c = rows[row], receives = costs.receive(row, k, hands), message = costs.ready(row, k, hands) + receives, wire = Math.max(k - 1, 0) * c[4];
      const sends = c[1] + k * c[5] + wire, takes = c[2] + k * c[6] + wire, exchanges = Math.min(hands ? receives + c[1] : message - c[0], message);
      return [message, costs.send(row, k, hands), sends, hands ? receives : takes, takes, exchanges, sends + takes - wire, message - exchanges][what];
    },
  };
  return costs;
}

// Per group of members of collectives, ns on a network: `instances.forms`.
function liveCollectives(costs, {groups, sums}) {
  const there = new Map();
  for (let k = 0; k < sums.row.length; k++) {
    const ns = sums.times[k] * costs.edge(sums.what[k], sums.costs[k], sums.size[k], sums.waits[k]);
    there.set(sums.row[k], (there.get(sums.row[k]) || 0) + ns);
  }
  return groups.kind.map((kind, k) => {
    const sum = liveRound(there.get(kind) || 0), here = groups.here[k], grows = groups.explained[k];
    return groups.known[k] ? liveRound(groups.stays[k] + (here > 0 ? grows * (sum / here) : sum)) : sum;
  });
}
