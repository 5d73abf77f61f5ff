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
    if (series.length && chart.change_points.length) {
        series.push({
            type: 'line', name: 'level changes', data: [], symbol: 'none', itemStyle: {color: look.bad},
            lineStyle: {color: look.bad},
            markLine: {silent: true, symbol: 'none', label: {show: false},
                       lineStyle: {color: look.bad, type: 'solid', width: 1.5},
                       data: chart.change_points.map(at => ({xAxis: at}))},
        });
        names.push('level changes');
    }
    return {
        ...frame(look, width, names),
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
