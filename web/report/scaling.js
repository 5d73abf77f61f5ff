// Charts of a series: how it scales, and its runs one after the other.
import {SYMBOLS, around, axis, base, count, digits, figures, legendHeight} from './look.js';

function curve(look, name, index, rows, value, more) {
    return {
        type: 'line', name, symbol: SYMBOLS[index], symbolSize: 8,
        lineStyle: {width: 2, color: look.lines[index]}, itemStyle: {color: look.lines[index]},
        data: rows.filter(row => value(row) !== null).map(row => [row.ranks, value(row)]), ...more,
    };
}

function rankAxis(look, rows) {
    return axis(look, 'ranks', {type: 'log', logBase: 2, min: rows[0].ranks,
                                max: rows[rows.length - 1].ranks,
                                axisLabel: {color: look.dim, formatter: count}});
}

function ideal(look) {
    return {symbol: 'none', lineStyle: {type: 'dashed', width: 1.5, color: look.dim},
            itemStyle: {color: look.dim}};
}

function frame(look, width, names) {
    return {...base(look), legend: {...base(look).legend, data: names},
            grid: {left: 60, right: 24, top: legendHeight(names, width) + 26, bottom: 44}};
}

export function throughput(chart, look, width) {
    const rows = chart.rows, first = rows[0];
    const series = [
        curve(look, 'measured', 0, rows, row => row.samples_per_s, {z: 4}),
        curve(look, 'ideal', 6, rows, row => first.samples_per_s * row.ranks / first.ranks, ideal(look)),
        curve(look, 'plan', 1, rows, row => row.predicted_samples_per_s,
              {lineStyle: {type: 'dotted', width: 2, color: look.lines[1]}}),
    ].filter(each => each.data.length);
    return {
        ...frame(look, width, series.map(each => each.name)),
        xAxis: rankAxis(look, rows),
        yAxis: figures(look, 'samples/s, logarithmic', {type: 'log', logBase: 2,
                                           axisLabel: {color: look.dim, formatter: digits}}),
        tooltip: {...base(look).tooltip, formatter: all => [`${count(all[0].value[0])} ranks`].concat(
            all.map(each => `${each.seriesName}: ${digits(each.value[1])} samples/s`)).join('\n')},
        series,
    };
}

export function efficiency(chart, look, width) {
    const rows = chart.rows;
    const series = [
        curve(look, 'measured', 0, rows, row => row.efficiency * 100, {z: 4}),
        curve(look, 'ideal', 6, rows, () => 100, ideal(look)),
    ];
    return {
        ...frame(look, width, series.map(each => each.name)),
        xAxis: rankAxis(look, rows),
        yAxis: figures(look, 'efficiency, %', {min: 0}),
        tooltip: {...base(look).tooltip, formatter: all => [`${count(all[0].value[0])} ranks`].concat(
            all.map(each => `${each.seriesName}: ${digits(each.value[1])} %`)).join('\n')},
        series,
    };
}

function spread(points, scale) {
    return {
        type: 'custom', silent: true, clip: true, z: 2, tooltip: {show: false}, encode: {x: 0, y: 1},
        data: points.map(point => [point.at, point.step_s * scale, (point.mad || 0) * scale]),
        renderItem: (params, api) => {
            const at = api.value(0), value = api.value(1), mad = api.value(2);
            const [x, top] = api.coord([at, value + mad]), [, low] = api.coord([at, value - mad]);
            return {type: 'line', shape: {x1: x, x2: x, y1: top, y2: low},
                    style: {stroke: api.visual('color'), lineWidth: 2, opacity: 0.6}};
        },
    };
}

/// The median of each level, over its runs.
function levels(parts, scale) {
    return {
        type: 'custom', silent: true, clip: true, z: 3, tooltip: {show: false}, encode: {x: 0, y: 2},
        data: parts.map(part => [part.first, part.last, part.step_s * scale]),
        renderItem: (params, api) => {
            const room = api.size([1, 0])[0] / 2, value = api.value(2);
            const [from, y] = api.coord([api.value(0), value]), [to] = api.coord([api.value(1), value]);
            return {type: 'line', shape: {x1: from - room, x2: to + room, y1: y, y2: y},
                    style: {stroke: api.visual('color'), lineWidth: 5, opacity: 0.35}};
        },
    };
}

/// Which labels find room above the plot: the largest change first.
function labelled(all, runs, width) {
    const room = 190 / Math.max(1, width - 84) * runs, shown = [];
    [...all].sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).forEach(change => {
        if (shown.every(other => Math.abs(other.at - change.at) >= room)) shown.push(change);
    });
    return shown;
}

/// Vertical lines at the first runs of new levels.
function changes(all, look, runs, width) {
    const shown = labelled(all, runs, width);
    const side = at => at < 0.2 * runs ? 'left' : at > 0.8 * runs ? 'right' : 'center';
    return {
        type: 'line', data: [], symbol: 'none', itemStyle: {color: look.bad},
        lineStyle: {color: look.bad},
        markLine: {
            silent: true, symbol: 'none',
            data: all.map(change => ({
                xAxis: change.at,
                lineStyle: {color: look.bad, type: change.effect > 0 ? 'solid' : 'dashed', width: 1.5},
                label: {show: shown.includes(change), formatter: change.label, position: 'end',
                        align: side(change.at), color: look.text, fontSize: 11, lineHeight: 14},
            })),
        },
    };
}

export function runs(chart, look, width) {
    const {per_second: scale, name: unit} = chart.unit;
    const points = chart.runs.map((run, at) => ({...run, at}));
    const size = run => `${count(run.ranks)} rank${run.ranks === 1 ? '' : 's'} on ` +
        `${count(run.nodes)} node${run.nodes === 1 ? '' : 's'}`;
    const names = [...new Set(points.map(size))];
    const limits = around(Math.min(...points.map(point => (point.step_s - point.mad) * scale)),
                          Math.max(...points.map(point => (point.step_s + point.mad) * scale)));
    const series = [];
    names.forEach((name, i) => {
        const members = points.filter(point => size(point) === name);
        const color = look.lines[i % look.lines.length];
        series.push({type: 'line', name, symbol: SYMBOLS[i % SYMBOLS.length], symbolSize: 7, z: 4,
                     lineStyle: {width: 1, color}, itemStyle: {color},
                     data: members.map(point => [point.at, point.step_s * scale])});
        series.push({...spread(members, scale), name, itemStyle: {color}});
    });
    if (chart.levels.length) {
        series.push({...levels(chart.levels, scale), name: 'level', itemStyle: {color: look.text}});
        names.push('level');
    }
    if (chart.changes.length) {
        series.push({...changes(chart.changes, look, points.length, width), name: 'change'});
        names.push('change');
    }
    const around_plot = frame(look, width, names);
    if (chart.changes.length) around_plot.grid.top += 34;  // for their labels
    return {
        ...around_plot,
        xAxis: axis(look, 'run', {type: 'category', data: points.map(point => String(point.number)),
                                  splitLine: {show: false}}),
        yAxis: figures(look, unit + '/step', {...limits, axisLabel: {color: look.dim, formatter: digits}}),
        tooltip: {...base(look).tooltip, formatter: all => {
            const point = points[all[0].dataIndex === undefined ? 0 : all[0].value[0]];
            return `run ${point.number}, ${point.submitted}\n${size(point)}\n` +
                `${digits(point.step_s * scale)} \u00b1 ${digits(point.mad * scale)} ${unit}/step`;
        }},
        series,
    };
}
