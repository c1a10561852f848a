// ---- what ran -------------------------------------------------------------

// A peer's, the same in every chart.
function colorOf(name) {
    return '--peer' + peerNames(figures.rows).indexOf(name) % 3;
}

// Few rows wait for memory, and so do ops; what computes has the peak instead.
function waitsForMemory(row) {
    return !row.peak || row.dims[0] === 1;
}

// All contenders of a row: [name, color, {seconds, kernel}].
function contenders(row) {
    const all = [['plugin', '--plugin', row.plugin],
                 ['stock oneDNN', '--stock', row.stock]];
    for (const [name, peer] of Object.entries(row.peers || {}))
        all.push([name, colorOf(name), peer]);
    return all.filter(([, , side]) => side && side.seconds);
}

function limitOf(row) {
    return row.limit && row.limit[row.limit.best]
        ? row.limit[row.limit.best].median : 0;
}

function rooflineChart(rows) {
    const points = [];
    for (const row of rows)
        for (const [name, color, side] of contenders(row))
            points.push({row, name, color, kernel: side.kernel,
                         limit: row.bytes / limitOf(row) / 1e9,
                         reached: row.bytes / side.seconds.median / 1e9});
    if (!points.length) return;
    const node = section('Achieved against the limit',
        'Bytes that must move, by the time taken: each mark is one row and ' +
        'one implementation. On the solid line the code is as fast as a ' +
        'plain loop that only moves the bytes; below it slower, and above it ' +
        'where prefetching beats that loop. The dashed line is 1.35 times ' +
        'the limit.');
    const names = new Map(points.map(point => [point.name, point.color]));
    key(node, names);
    const svg = chart(node, 'roofline');
    const x = logScale(points.map(p => p.limit), box.left, box.right);
    const y = logScale(points.flatMap(p => [p.reached, p.limit]),
                       box.bottom, box.top);
    horizontalTicks(svg, y, digits);
    verticalTicks(svg, x, digits);
    const ends = [Math.min(...points.map(p => p.limit)),
                  Math.max(...points.map(p => p.limit))];
    const diagonal = (name, factor) =>
        add(svg, 'line', {class: name, x1: x(ends[0]), x2: x(ends[1]),
                          y1: y(ends[0] / factor), y2: y(ends[1] / factor)});
    diagonal('target', 1.35);
    diagonal('roof', 1);
    add(svg, 'text', {x: x(ends[1]), y: y(ends[1]) - 6,
                      'text-anchor': 'end'}, 'the limit');
    // The plugin's marks last, on top.
    points.sort((a, b) => (a.name === 'plugin') - (b.name === 'plugin'));
    for (const point of points) {
        const mark = add(svg, 'circle', {
            cx: x(point.limit), cy: y(point.reached), r: 5,
            fill: `var(${point.color})`, 'data-row': point.row.name});
        explain(mark, `${point.row.name}\n${point.name}: ` +
            `${digits(point.reached)} GB/s, limit ${digits(point.limit)}\n` +
            (point.kernel || ''));
    }
    titles(svg, 'the limit, GB/s', 'achieved, GB/s');
}

// What rows are read together: their shape, layout and threads.
function sectionOf(row) {
    return [row.dims.join('x'), row.layout === 'dense' ? '' : row.layout,
            row.threads + (row.threads > 1 ? ' threads' : ' thread')]
        .filter(word => word).join(', ');
}

function ratioChart(rows) {
    const shown = rows.filter(row => row.ratio && row.dims);
    const sections = [...new Set(shown.map(sectionOf))];
    if (!sections.length) return;
    const node = section('Time over the limit',
        'Each mark is one row, a line of marks is one shape, layout and ' +
        'number of threads. Left of the solid line the code is faster than ' +
        'the plain loop.');
    key(node, [['meets its target', '--plugin'],
               ['misses its target', '--stock']]);
    const narrow = node.clientWidth < 700;
    const step = narrow ? 42 : 28;
    const svg = chart(node, 'time over the limit',
                      box.top + 50 + step * sections.length);
    const left = narrow ? 20 : 220;
    const x = logScale([...shown.map(row => row.ratio.median), 1], left,
                       box.right);
    verticalTicks(svg, x, times);
    add(svg, 'line', {class: 'roof', x1: x(1), x2: x(1), y1: box.top,
                      y2: box.bottom});
    sections.forEach((name, i) => {
        const y = box.top + (i + (narrow ? 0.75 : 0.5)) * step;
        add(svg, 'text', {x: 4, y: narrow ? y - 14 : y + 4}, name);
        // The misses last, on top.
        const line = shown.filter(row => sectionOf(row) === name)
                          .sort((a, b) => a.misses_target - b.misses_target);
        for (const row of line) {
            const color = row.misses_target ? '--stock' : '--plugin';
            const mark = add(svg, 'circle', {
                cx: x(row.ratio.median), cy: y, r: 5, class: 'many',
                fill: `var(${color})`, 'data-row': row.name});
            explain(mark, `${row.name}\n${times(row.ratio.median)} the limit` +
                (row.target ? `, target ${times(row.target)}` : '') +
                `\n${row.plugin.kernel}`);
        }
    });
    titles(svg, 'time / limit', '');
}

// Of products: what part of the machine's multiply-adds they keep busy.
function peakChart(rows) {
    const shown = rows.filter(row => row.peak && row.peak.share);
    if (!shown.length) return;
    const node = section('Share of the peak',
        'Multiply-adds a second over those of a loop whose operands stay in ' +
        'registers: of f32 by FMA, of u8 by VNNI. Few rows wait for memory ' +
        'instead.');
    const shareOf = side => side && side.share ? side.share.median : undefined;
    const sides = [['plugin', '--plugin', row => shareOf(row.peak)],
        ...peerNames(shown).map(name =>
            [name, colorOf(name), row => shareOf((row.peers || {})[name])])];
    key(node, sides.map(([name, color]) => [name, color]));
    const narrow = node.clientWidth < 700;
    const step = narrow ? 42 : 24;
    const svg = chart(node, 'share of the peak',
                      box.top + 50 + step * shown.length);
    const left = narrow ? 20 : 360;
    const most = Math.max(1, ...shown.flatMap(row =>
        sides.map(([, , share]) => share(row) || 0)));
    const inPercent = linearScale(100 * most, left, box.right);
    const x = share => inPercent(100 * share);
    verticalTicks(svg, inPercent, value => digits(value) + ' %');
    add(svg, 'line', {class: 'roof', x1: x(1), x2: x(1), y1: box.top,
                      y2: box.bottom});
    shown.forEach((row, i) => {
        const y = box.top + (i + (narrow ? 0.75 : 0.5)) * step;
        add(svg, 'text', {x: 4, y: narrow ? y - 14 : y + 4},
            row.name.replace('MatMul/', ''));
        // The plugin's marks last, on top.
        for (const [name, color, share] of [...sides].reverse()) {
            if (share(row) === undefined) continue;
            const mark = add(svg, 'circle', {
                cx: x(share(row)), cy: y, r: 5, fill: `var(${color})`,
                'data-row': row.name});
            explain(mark, `${row.name}\n${name}: ` +
                `${(100 * share(row)).toFixed(0)} % of ${row.peak.of}, ` +
                `${digits(row.peak.per_second / 1e9)} G a second`);
        }
    });
    titles(svg, 'of the peak', '');
}

function gainChart(rows, name, color, gainOf) {
    const gains = rows.map(row => ({row, gain: gainOf(row)}))
                      .filter(item => item.gain > 0)
                      .sort((a, b) => b.gain - a.gain);
    if (!gains.length) return;
    const node = section('How many times faster than ' + name,
        `${gains.length} rows that both run, the greatest gain first; ` +
        'below the solid line the plugin is slower.');
    const svg = chart(node, 'gain over ' + name, 400);
    const y = logScale([...gains.map(item => item.gain), 1],
                       box.bottom, box.top);
    horizontalTicks(svg, y, times);
    const step = (box.right - box.left) / gains.length;
    const width = Math.min(Math.max(step - 2, 1), 40);
    gains.forEach(({row, gain}, i) => {
        const top = Math.min(y(gain), y(1)), bottom = Math.max(y(gain), y(1));
        const mark = add(svg, 'rect', {
            x: box.left + i * step + (step - width) / 2, y: top, width,
            height: Math.max(bottom - top, 2), rx: Math.min(width / 4, 4),
            fill: `var(${gain < 1 ? color : '--plugin'})`,
            'data-row': row.name});
        explain(mark, `${row.name}\n${times(gain)} ` +
            `(${seconds(row.plugin.seconds.median)})`);
    });
    add(svg, 'line', {class: 'roof', x1: box.left, x2: box.right,
                      y1: y(1), y2: y(1)});
    titles(svg, 'rows', 'gain');
}

// ---- serve ----------------------------------------------------------------

function latencyChart(rows) {
    const quantiles = [['p50', 'p50'], ['p99', 'p99'], ['p999', 'p99.9']];
    const sides = [['plugin', '--plugin'], ['stock', '--stock']];
    const node = section('Latencies',
        'Of each call under load: the median, and what one of a hundred and ' +
        'one of a thousand calls took longer than, where there were enough.');
    key(node, sides);
    const svg = chart(node, 'latencies');
    const all = rows.flatMap(row => sides.flatMap(([side]) =>
        quantiles.map(([q]) => row[side][q]).filter(value => value > 0)));
    const x = logScale(all, box.left + 70, box.right);
    verticalTicks(svg, x, seconds);
    const step = (box.bottom - box.top) / (rows.length * quantiles.length);
    rows.forEach((row, i) => quantiles.forEach(([q, label], j) => {
        const y = box.top + (i * quantiles.length + j + 0.5) * step;
        add(svg, 'text', {x: 4, y: y + 4}, `${row.name} ${label}`);
        const known = sides.filter(([side]) => row[side][q] > 0);
        const ends = known.map(([side]) => x(row[side][q]));
        if (ends.length === 2)
            add(svg, 'line', {class: 'grid', x1: ends[0], x2: ends[1],
                              y1: y, y2: y});
        for (const [side, color] of known) {
            const mark = add(svg, 'circle', {
                cx: x(row[side][q]), cy: y, r: 6, fill: `var(${color})`,
                'data-row': `${row.name} ${label}`});
            explain(mark, `${row.name}, ${label}, ${side}: ` +
                seconds(row[side][q]));
        }
    }));
    titles(svg, 'time', '');
}

function memoryChart(points) {
    const node = section('Resident memory over time',
        'Of the whole process; plugin and stock take turns.');
    const svg = chart(node, 'memory', 320);
    const megabytes = Math.max(...points.map(p => p.bytes)) / 1e6;
    const x = linearScale(Math.max(...points.map(p => p.seconds)), box.left,
                          box.right);
    const inMegabytes = linearScale(megabytes * 1.1, box.bottom, box.top);
    const y = bytes => inMegabytes(bytes / 1e6);
    horizontalTicks(svg, inMegabytes, digits);
    verticalTicks(svg, x, digits);
    add(svg, 'polyline', {
        fill: 'none', stroke: 'var(--quiet)', 'stroke-width': 2,
        points: points.map(p => `${x(p.seconds)},${y(p.bytes)}`).join(' ')});
    for (const p of points) {
        const mark = add(svg, 'circle', {
            cx: x(p.seconds), cy: y(p.bytes), r: 5, 'data-row': p.side,
            fill: p.side === 'start' ? 'var(--quiet)' : `var(--${p.side})`});
        explain(mark, `${digits(p.seconds)} s, after ${p.side}: ` +
            `${digits(p.bytes / 1e6)} MB`);
    }
    titles(svg, 'seconds', 'MB');
}
