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

// From 0 to `most`, with round ticks.
function linearScale(most, from, to) {
    const scale = value => from + value / most * (to - from);
    const power = 10 ** Math.floor(Math.log10(most / 4));
    const step = [1, 2, 5, 10].map(n => n * power)
                              .find(width => most / width <= 6);
    scale.ticks = [];
    for (let i = 0; i * step <= most; i++) scale.ticks.push(i * step);
    return scale;
}

// Charts are drawn at the size they are shown in, so that text stays legible on
// a telephone; a page whose width changes is drawn again.
const box = {left: 64, top: 12};

function chart(parent, name, height = 470) {
    const width = Math.max(parent.clientWidth - 32, 300);
    box.width = width;
    box.right = width - 20;
    box.bottom = height - 50;
    return add(parent, 'svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
                               'data-chart': name, 'aria-label': name});
}

// Of ticks that would stand closer than this, every so many stays.
function thinned(ticks, room, least) {
    const step = Math.ceil(ticks.length * least / room);
    return step > 1 ? ticks.filter((tick, i) => i % step === 0) : ticks;
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
    for (const tick of thinned(x.ticks, box.right - box.left, 56)) {
        add(svg, 'line', {class: 'grid', x1: x(tick), x2: x(tick),
                          y1: box.top, y2: box.bottom});
        add(svg, 'text', {x: x(tick), y: box.bottom + 18,
                          'text-anchor': 'middle'}, label(tick));
    }
}

function titles(svg, below, beside) {
    add(svg, 'text', {x: (box.left + box.right) / 2, y: box.bottom + 42,
                      'text-anchor': 'middle'}, below);
    const middle = (box.top + box.bottom) / 2;
    add(svg, 'text', {x: 14, y: middle, 'text-anchor': 'middle',
                      transform: `rotate(-90 14 ${middle})`}, beside);
}

// Draws the page now and whenever its width changes; a test waits for the mark.
function drawAtEachWidth(draw) {
    draw();
    let drawnWidth = innerWidth;
    addEventListener('resize', () => {
        if (innerWidth === drawnWidth) return;
        drawnWidth = innerWidth;
        draw();
    });
    document.documentElement.dataset.drawn = 'yes';
}
