/** The table of the event stores: a column for each, the goals last. */

const goals = {
  createsToAppends: '≥ 0.4',
  inAppends: '≤ 2',
  lifecycles: '≥ 200',
  rebuildToReading: '≥ 0.6',
};
const columnMin = 8;

export function reportEventStores(results) {
  const stores = Object.values(results);
  const [first] = stores;
  const row = (label, goal, pick) => [label, ...stores.map(pick), goal];
  const rows = [
    ['EVENT STORE', ...Object.keys(results), 'goal'],
    ...Object.keys(first.widths).map((width) =>
      row(`client alone: appends/s, ${width} callers`, '', ({ widths }) =>
        whole(widths[width].appendsPerSecond),
      ),
    ),
    row('client alone: append p50, 1 caller', '', ({ one }) => ms(one.appendP50Ms)),
    row('client alone: reads/s of one stream', '', (store) => whole(store.readsPerSecond)),
    row('client alone: log, events/s', '', ({ log }) => whole(log.eventsPerSecond)),
    ...Object.keys(first.widths).flatMap((width) => [
      row(`creates/s, ${width} callers`, '', ({ widths }) => whole(widths[width].createsPerSecond)),
      row("  : the client's appends", goals.createsToAppends, ({ widths }) =>
        widths[width].createsToAppends.toFixed(2),
      ),
    ]),
    row('create p50, 1 caller', '', ({ one }) => ms(one.createP50Ms)),
    row("  : the client's append", goals.inAppends, ({ one }) => one.inAppends.toFixed(2)),
    row('lifecycles/s', goals.lifecycles, (store) => whole(store.lifecyclesPerSecond)),
    row('rebuild, events/s', '', ({ log }) => whole(log.rebuildEventsPerSecond)),
    row("  : the client's reading", goals.rebuildToReading, ({ log }) =>
      log.rebuildToReading.toFixed(2),
    ),
  ];
  const sizes = rows[0].map((_, n) => Math.max(columnMin, ...rows.map((cells) => cells[n].length)));
  console.log('');
  for (const cells of rows)
    console.log(
      cells
        .map((cell, n) => cell.padEnd(sizes[n]))
        .join('   ')
        .trimEnd(),
    );
}

const whole = (value) => Math.round(value).toLocaleString('en');
const ms = (value) => `${value.toFixed(1)} ms`;
