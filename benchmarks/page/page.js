'use strict';

const figures = JSON.parse(document.getElementById('figures').textContent);
const main = document.querySelector('main');
const svgNamespace = 'http://www.w3.org/2000/svg';

// ---- elements -------------------------------------------------------------

function add(parent, tag, attributes = {}, text = '') {
    const node = parent instanceof SVGElement || tag === 'svg'
        ? document.createElementNS(svgNamespace, tag)
        : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        node.setAttribute(name, value);
    if (text !== '') node.textContent = text;
    parent.append(node);
    return node;
}

function section(title, note) {
    const node = add(main, 'section');
    add(node, 'h2', {}, title);
    add(node, 'p', {}, note);
    return node;
}

function key(parent, entries) {
    const node = add(parent, 'div', {class: 'key'});
    for (const [name, color] of entries) {
        const entry = add(node, 'span');
        add(entry, 'i', {style: `background: var(${color})`});
        entry.append(name);
    }
}

const tip = document.getElementById('tip');

function explain(mark, text) {
    mark.addEventListener('mousemove', event => {
        tip.hidden = false;
        tip.textContent = text;
        const right = event.pageX + 14 + tip.offsetWidth > innerWidth;
        tip.style.left = (right ? event.pageX - 14 - tip.offsetWidth
                                : event.pageX + 14) + 'px';
        tip.style.top = event.pageY + 14 + 'px';
    });
    mark.addEventListener('mouseleave', () => { tip.hidden = true; });
}

// ---- numbers --------------------------------------------------------------

function seconds(value) {
    if (!(value > 0)) return '–';
    for (const [unit, scale] of [['s', 1], ['ms', 1e3], ['µs', 1e6]])
        if (value * scale >= 1) return digits(value * scale) + ' ' + unit;
    return digits(value * 1e9) + ' ns';
}

function digits(value) {
    if (value >= 1000) return Math.round(value).toLocaleString('en');
    return Number(value.toPrecision(3)).toString();
}

function times(value) {
    return digits(value) + '×';
}

function median(values) {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle]
                             : (sorted[middle - 1] + sorted[middle]) / 2;
}

// ---- axes -----------------------------------------------------------------

// A logarithmic scale that holds all values, from pixel to pixel.
function logScale(values, from, to) {
    const low = Math.log10(Math.min(...values)) - 0.08;
    const high = Math.log10(Math.max(...values)) + 0.08;
    const scale = value =>
        from + (Math.log10(value) - low) / (high - low) * (to - from);
    scale.ticks = [];
    const steps = high - low > 3 ? [1] : high - low > 1.2 ? [1, 3] : [1, 2, 5];
    for (let power = Math.floor(low); power <= high; power++)
        for (const step of steps) {
            const tick = step * 10 ** power;
            if (Math.log10(tick) >= low && Math.log10(tick) <= high)
                scale.ticks.push(tick);
        }
    return scale;
}

const box = {left: 64, right: 1090, top: 12, bottom: 420};

function chart(parent, name) {
    return add(parent, 'svg', {viewBox: '0 0 1110 470', role: 'img',
                               'data-chart': name, 'aria-label': name});
}

function horizontalTicks(svg, y, label) {
    for (const tick of y.ticks) {
        add(svg, 'line', {class: 'grid', x1: box.left, x2: box.right,
                          y1: y(tick), y2: y(tick)});
        add(svg, 'text', {x: box.left - 8, y: y(tick) + 4,
                          'text-anchor': 'end'}, label(tick));
    }
}

function verticalTicks(svg, x, label) {
    for (const tick of x.ticks) {
        add(svg, 'line', {class: 'grid', x1: x(tick), x2: x(tick),
                          y1: box.top, y2: box.bottom});
        add(svg, 'text', {x: x(tick), y: box.bottom + 18,
                          'text-anchor': 'middle'}, label(tick));
    }
}

function titles(svg, below, beside) {
    add(svg, 'text', {x: (box.left + box.right) / 2, y: 462,
                      'text-anchor': 'middle'}, below);
    add(svg, 'text', {x: 14, y: 216, 'text-anchor': 'middle',
                      transform: 'rotate(-90 14 216)'}, beside);
}

// ---- what ran -------------------------------------------------------------

// All contenders of a row: [name, color, {seconds, kernel}].
function contenders(row) {
    const all = [['plugin', '--plugin', row.plugin],
                 ['stock oneDNN', '--stock', row.stock]];
    Object.entries(row.peers || {}).forEach(([name, peer], i) =>
        all.push([name, '--peer' + i % 2, peer]));
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
        'plain loop that only moves the bytes; below it slower. The dashed ' +
        'line is what we aim at, 1.35 times the limit.');
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

function gainChart(rows, name, color, gainOf) {
    const gains = rows.map(row => ({row, gain: gainOf(row)}))
                      .filter(item => item.gain > 0)
                      .sort((a, b) => b.gain - a.gain);
    if (!gains.length) return;
    const node = section('How many times faster than ' + name,
        `${gains.length} rows that both run, the greatest gain first; ` +
        'below the solid line the plugin is slower.');
    const svg = chart(node, 'gain over ' + name);
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
        'one of a thousand calls took longer than.');
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
        const ends = sides.map(([side]) => x(row[side][q]));
        add(svg, 'line', {class: 'grid', x1: ends[0], x2: ends[1],
                          y1: y, y2: y});
        for (const [side, color] of sides) {
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
    const svg = chart(node, 'memory');
    const most = Math.max(...points.map(p => p.bytes)) * 1.1;
    const last = Math.max(...points.map(p => p.seconds));
    const x = t => box.left + t / last * (box.right - box.left);
    const y = b => box.bottom - b / most * (box.bottom - box.top);
    y.ticks = [0, 1, 2, 3, 4].map(i => most / 4.4 * i);
    horizontalTicks(svg, y, tick => Math.round(tick / 1e6));
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

// ---- tables ---------------------------------------------------------------

function table(node, columns, rows) {
    const wide = add(node, 'div', {class: 'wide'});
    const element = add(wide, 'table');
    const head = add(add(element, 'thead'), 'tr');
    const body = add(element, 'tbody');
    const fill = sorted => {
        body.replaceChildren();
        for (const row of sorted) {
            const line = add(body, 'tr');
            for (const column of columns) {
                const value = column.value(row);
                const text = value === undefined || value === null ? ''
                    : column.text ? column.text(value) : value;
                add(line, 'td', column.text ? {class: 'number'} : {}, text);
            }
        }
    };
    for (const column of columns) {
        const cell = add(head, 'th', column.text ? {class: 'number'} : {},
                         column.title);
        let rising = false;
        cell.addEventListener('click', () => {
            rising = !rising;
            const rank = row => column.value(row) ?? -Infinity;
            fill([...rows].sort((a, b) => (rising ? 1 : -1) *
                (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0)));
        });
    }
    fill(rows);
}

function rowsTable(rows) {
    const time = side => side && side.seconds ? side.seconds.median : undefined;
    const columns = [
        {title: 'row', value: row => row.name},
        {title: 'plugin', value: row => time(row.plugin), text: seconds},
        {title: 'limit', value: row => limitOf(row) || undefined,
         text: seconds},
        {title: 'ratio', value: row => row.ratio ? row.ratio.median : undefined,
         text: digits},
        {title: 'stock', value: row => time(row.stock), text: seconds},
        {title: 'gain', value: row => row.gain, text: times}];
    for (const name of peerNames(rows))
        columns.push({title: name, text: seconds,
                      value: row => time((row.peers || {})[name])});
    if (rows.some(row => row.check))
        columns.push({title: 'check', value: row => row.check});
    columns.push({title: 'kernel', value: row =>
        row.plugin.kernel || (row.plugin.refused ? 'refused' : 'oneDNN')});
    table(section('All rows', 'Medians; a click on a title sorts.'),
          columns, rows);
}

function callsTable(rows) {
    const lines = rows.flatMap(row => ['plugin', 'stock'].map(
        side => ({call: row.name, side, ...row[side]})));
    const quantile = (title, name) =>
        ({title, value: line => line[name], text: seconds});
    table(section('All calls', 'Per second over all threads.'), [
        {title: 'call', value: line => line.call},
        {title: 'by', value: line => line.side},
        {title: 'count', value: line => line.count, text: digits},
        {title: 'per second', value: line => line.per_second, text: digits},
        quantile('p50', 'p50'), quantile('p99', 'p99'),
        quantile('p99.9', 'p999'), quantile('max', 'max')], lines);
}

// ---- the page -------------------------------------------------------------

function peerNames(rows) {
    return [...new Set(rows.flatMap(row => Object.keys(row.peers || {})))];
}

function tiles(entries) {
    const node = add(main, 'div', {class: 'tiles'});
    for (const [value, what] of entries) {
        const tile = add(node, 'div');
        add(tile, 'b', {}, value);
        add(tile, 'span', {}, what);
    }
}

function rowsPage(rows) {
    const ratios = rows.filter(row => row.ratio).map(row => row.ratio.median);
    const gains = rows.filter(row => row.gain > 0).map(row => row.gain);
    const entries = [[digits(rows.length), 'rows']];
    if (ratios.length)
        entries.push([median(ratios).toFixed(2), 'median time over the limit']);
    if (gains.length) {
        entries.push([times(median(gains)), 'median gain over stock oneDNN']);
        entries.push([digits(gains.filter(gain => gain < 0.95).length),
                      'rows slower than stock']);
    }
    tiles(entries);
    rooflineChart(rows.filter(row => limitOf(row) > 0));
    gainChart(rows, 'stock oneDNN', '--stock', row => row.gain);
    peerNames(rows).forEach((name, i) =>
        gainChart(rows, name, '--peer' + i % 2, row => {
            const peer = (row.peers || {})[name];
            return peer && peer.seconds && row.plugin.seconds
                ? peer.seconds.median / row.plugin.seconds.median : 0;
        }));
    rowsTable(rows);
}

function servePage(rows) {
    const execute = rows[0];
    tiles([[digits(execute.plugin.per_second), 'executes a second, plugin'],
           [digits(execute.stock.per_second), 'executes a second, stock'],
           [seconds(execute.plugin.p999), 'p99.9 of execute, plugin'],
           [digits(figures.threads), 'threads']]);
    latencyChart(rows);
    memoryChart(figures.memory);
    callsTable(rows);
}

function head() {
    const {cpu, cores, l2_bytes: l2, l3_bytes: l3, onednn, isa,
           dnnl_dequant: plugin, date} = figures.machine;
    document.querySelector('h1').textContent =
        'dnnl-dequant-bench ' + figures.command;
    document.getElementById('machine').textContent =
        `${cpu}, ${cores} cores, L2 ${l2 >> 10} KiB, L3 ${l3 >> 10} KiB; ` +
        `oneDNN ${onednn}, ${isa}; dnnl_dequant ${plugin}; ${date}`;
}

head();
if (figures.command === 'serve') servePage(figures.rows);
else if (figures.rows.length) rowsPage(figures.rows);
else add(main, 'p', {}, 'No rows.');
document.documentElement.dataset.drawn = 'yes';
