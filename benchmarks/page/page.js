// ---- tables ---------------------------------------------------------------

function table(node, columns, rows) {
    const wide = add(node, 'div', {class: 'wide', tabindex: 0});
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
                const cell = add(line, 'td', {
                    class: column.text ? 'number' : column.kind || ''});
                // A long name breaks between its words.
                String(text).split(/(?<=[/#+])/).forEach((word, i) =>
                    cell.append(...(i ? [document.createElement('wbr')] : []),
                                word));
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
        {title: 'row', value: row => row.name, kind: 'name'},
        {title: 'plugin', value: row => time(row.plugin), text: seconds},
        {title: 'limit', value: row => limitOf(row) || undefined,
         text: seconds},
        {title: 'ratio', value: row => row.ratio ? row.ratio.median : undefined,
         text: ratio => ratio.toFixed(2)},
        ...(rows.some(row => row.peak) ? [{title: 'of peak', value: row =>
            row.peak && row.peak.share ? row.peak.share.median : undefined,
            text: share => (100 * share).toFixed(0) + ' %'}] : []),
        {title: 'stock', value: row => time(row.stock), text: seconds},
        {title: 'gain', value: row => row.gain, text: times}];
    for (const name of peerNames(rows))
        columns.push({title: name, text: seconds,
                      value: row => time((row.peers || {})[name])});
    if (rows.some(row => row.check))
        columns.push({title: 'check', value: row => row.check});
    columns.push({title: 'kernel', value: row =>
        row.plugin.kernel || (row.plugin.refused ? 'refused' : 'oneDNN')});
    const guessed = rows.some(row => row.stock && row.stock.estimated);
    table(section('All rows', 'Medians; a click on a title sorts.' + (guessed
              ? ' Where stock takes seconds, its time is estimated from the ' +
                'first rows of the tensor.' : '')),
          columns, rows);
}

function slowerTable(claims) {
    const node = section('Slower than stock', 'Claims of which three quarters ' +
        'of the runs took longer than three quarters of stock oneDNN\'s.');
    node.dataset.chart = 'slower';
    if (claims.length === 0) return add(node, 'p', {}, 'None.');
    table(node, [
        {title: 'row', value: claim => claim.name, kind: 'name'},
        {title: 'plugin', value: claim => claim.plugin, text: seconds},
        {title: 'stock', value: claim => claim.stock, text: seconds},
        {title: 'ratio', value: claim => claim.ratio,
         text: ratio => ratio.toFixed(2)}], claims);
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

function latenciesTable(latencies) {
    const columns = [
        {title: 'call', value: item => item.what, kind: 'name'},
        {title: 'plugin', value: item => item.plugin.median, text: seconds},
        {title: 'stock', text: seconds,
         value: item => item.stock ? item.stock.median : undefined}];
    table(section('Latencies', 'What a call costs beside the work itself; ' +
                  'medians, one thread.'), columns, latencies);
}

function machineTable() {
    const {cpu, cores, l2_bytes: l2, l3_bytes: l3, onednn, isa,
           dnnl_dequant: plugin, date} = figures.machine;
    const lines = [
        ['CPU', cpu], ['cores that the run could use', cores],
        ['L2 of a core', (l2 >> 10) + ' KiB'], ['L3', (l3 >> 10) + ' KiB'],
        ['instruction set', isa], ['oneDNN', onednn],
        ['dnnl_dequant', plugin], ['date', date]];
    for (const peer of figures.peers || [])
        lines.push([peer.name || 'peer', peer.version || peer.absent || '']);
    const node = section('The machine', 'Where the figures are from.');
    node.dataset.chart = 'machine';
    table(node, [{title: 'what', value: line => line[0], kind: 'name'},
                 {title: '', value: line => String(line[1]), kind: 'name'}], lines);
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
    const ratios = rows.filter(row => row.ratio && waitsForMemory(row))
                       .map(row => row.ratio.median);
    const gains = rows.filter(row => row.gain > 0).map(row => row.gain);
    const entries = [[digits(rows.length), 'rows']];
    if (ratios.length)
        entries.push([median(ratios).toFixed(2), 'median time over the limit']);
    if (gains.length) {
        entries.push([times(median(gains)), 'median gain over stock oneDNN']);
        const slower = figures.slower_than_stock
            || gains.filter(gain => gain < 0.95);
        entries.push([digits(slower.length), 'rows slower than stock']);
    }
    tiles(entries);
    rooflineChart(rows.filter(row => limitOf(row) > 0 && waitsForMemory(row)));
    ratioChart(rows.filter(waitsForMemory));
    peakChart(rows);
    gainChart(rows, 'stock oneDNN', '--stock', row => row.gain);
    peerNames(rows).forEach(name =>
        gainChart(rows, name, colorOf(name), row => {
            const peer = (row.peers || {})[name];
            return peer && peer.seconds && row.plugin.seconds
                ? peer.seconds.median / row.plugin.seconds.median : 0;
        }));
    if (figures.slower_than_stock) slowerTable(figures.slower_than_stock);
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

function draw() {
    main.replaceChildren();
    tip.hidden = true;
    if (figures.command === 'serve') servePage(figures.rows);
    else if (figures.rows.length) rowsPage(figures.rows);
    else add(main, 'p', {}, 'No rows.');
    if ((figures.latencies || []).length) latenciesTable(figures.latencies);
    machineTable();
}

head();
drawAtEachWidth(draw);
