// The page of bench_ort.py, behind elements.js and charts.js of the other
// benches' pages.

const rows = figures.rows.map(row => ({
    ...row, name: `${row.name}, ${row.threads} ` +
        (row.threads > 1 ? 'threads' : 'thread'),
    plugin: {seconds: {median: row.provider_ms.p50 / 1e3}}}));

function tiles(entries) {
    const node = add(main, 'div', {class: 'tiles'});
    for (const [value, what] of entries) {
        const tile = add(node, 'div');
        add(tile, 'b', {}, value);
        add(tile, 'span', {}, what);
    }
}

function table(node, titles, lines) {
    const element = add(add(node, 'div', {class: 'wide', tabindex: 0}),
                        'table');
    const head = add(add(element, 'thead'), 'tr');
    titles.forEach((title, i) =>
        add(head, 'th', {class: i ? 'number' : ''}, title));
    const body = add(element, 'tbody');
    for (const line of lines) {
        const row = add(body, 'tr');
        line.forEach((text, i) =>
            add(row, 'td', {class: i ? 'number' : 'name'}, text));
    }
}

function percentilesChart() {
    const sides = [['provider_ms', 'provider', '--plugin'],
                   ['onnxruntime_ms', 'ONNX Runtime', '--stock']];
    const percentiles = [['p50', 6], ['p90', 4], ['p99', 3]];
    const node = section('Latencies',
        'Of one run: the median as a large mark, and as smaller ones what one ' +
        'of ten and one of a hundred runs took longer than.');
    key(node, sides.map(([, name, color]) => [name, color]));
    const line = 40;
    const svg = chart(node, 'latencies', rows.length * line + 62);
    const x = logScale(rows.flatMap(row => sides.flatMap(([side]) =>
        percentiles.map(([p]) => row[side][p] / 1e3))), box.left, box.right);
    verticalTicks(svg, x, seconds);
    rows.forEach((row, i) => {
        const y = box.top + i * line;
        add(svg, 'text', {x: 4, y: y + 11}, row.name);
        sides.forEach(([side, name, color], j) => {
            for (const [p, r] of percentiles) {
                const mark = add(svg, 'circle', {
                    cx: x(row[side][p] / 1e3), cy: y + 20 + 9 * j, r,
                    fill: `var(${color})`, 'data-row': row.name});
                explain(mark, `${row.name}\n${name}, ${p}: ` +
                    seconds(row[side][p] / 1e3));
            }
        });
    });
    titles(svg, 'time', '');
}

function rowsTable() {
    const ms = side => ['p50', 'p90', 'p99'].map(p => seconds(side[p] / 1e3));
    table(section('All rows',
        'Times of a run; the ratio is ONNX Runtime\'s time over the ' +
        'provider\'s, the median over turns with its quartiles.'),
        ['row', 'ratio', 'quartiles', 'provider p50', 'p90', 'p99',
         'ONNX Runtime p50', 'p90', 'p99', 'difference'],
        rows.map(row => [row.name, row.ratio.toFixed(2),
            row.ratio_quartiles.map(q => q.toFixed(2)).join('–'),
            ...ms(row.provider_ms), ...ms(row.onnxruntime_ms),
            row.difference.toExponential(1)]));
}

function nodesTable() {
    const lines = rows.flatMap(row => (row.nodes || []).map(node => [
        row.name + ': ' + node.nodes.join(', '),
        node.provider_us ? seconds(node.provider_us / 1e6) : '–',
        node.onnxruntime_us ? seconds(node.onnxruntime_us / 1e6) : '–',
        node.provider_us && node.onnxruntime_us
            ? (node.onnxruntime_us / node.provider_us).toFixed(2) : '–']));
    const node = section('Nodes that the provider took',
        'Medians of ONNX Runtime\'s profile, which counts whole ' +
        'microseconds. ONNX Runtime\'s time is that of the same nodes; there ' +
        'is none where it makes other nodes of them.');
    node.dataset.chart = 'nodes';
    if (!lines.length) return add(node, 'p', {}, 'None.');
    table(node, ['nodes', 'provider', 'ONNX Runtime', 'ratio'], lines);
}

function draw() {
    main.replaceChildren();
    tip.hidden = true;
    if (!rows.length) return add(main, 'p', {}, 'No rows.');
    const ratios = rows.map(row => row.ratio);
    tiles([[digits(rows.length), 'rows'],
           [times(median(ratios)), 'median gain over ONNX Runtime'],
           [digits(ratios.filter(ratio => ratio < 0.97).length),
            'rows below 0.97']]);
    rows.forEach(row => { row.gain = row.ratio; });
    gainChart(rows, 'ONNX Runtime', '--stock', row => row.ratio);
    percentilesChart();
    rowsTable();
    nodesTable();
}

document.title = 'bench_ort';
document.querySelector('h1').textContent = 'bench_ort';
document.getElementById('machine').textContent =
    `${figures.cpu}; ONNX Runtime ${figures.onnxruntime}; ` +
    Object.entries(figures.options).map(o => o.join('=')).join(', ') +
    `; ${figures.date}`;
drawAtEachWidth(draw);
