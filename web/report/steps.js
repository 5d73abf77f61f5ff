// Charts over the steps of a run: step time with its band, marks and plan; phases; memory; loss.
import {SYMBOLS, around, axis, base, count, digits, figures, legendHeight, stepZoom} from './look.js';

const MARKS = {
    relaunch: {symbol: 'path://M0,0 L10,0 L5,10 Z', size: 12, at: 0.97},
    checkpoint: {symbol: 'triangle', size: 8, at: 0.03},
    notice: {symbol: 'diamond', size: 10, at: 0.09},
};

function extent(lists) {
    let low = Infinity, high = -Infinity;
    for (const list of lists) {
        for (const value of list) {
            if (value === null) continue;
            if (value < low) low = value;
            if (value > high) high = value;
        }
    }
    return [low, high];
}

/// `more`: steps that stand on the axis too.
function stepAxis(look, lines, more = []) {
    const [low, high] = extent([...lines.map(line => line.step), more]);
    return axis(look, 'step', {
        min: low, max: high > low ? high : low + 1, minInterval: 1,
        axisLabel: {color: look.dim, hideOverlap: true, formatter: count},
        axisPointer: {snap: true, label: {show: false}},
    });
}

/// The limits of the step time: those outside the warm-up, unless that would cut little.
function timeLimits(chart, scale) {
    const cold = step => chart.warmup.some(([first, last]) => first <= step && step <= last);
    const all = [], warm = [];
    for (const line of chart.lines) {
        const top = line.max.length ? line.max : line.mean, low = line.min.length ? line.min : line.mean;
        all.push(top, low);
        const kept = list => list.filter((_, i) => !cold(line.step[i]));
        warm.push(kept(top), kept(low));
        if (line.expected !== null) {
            all.push([line.expected]);
            warm.push([line.expected]);
        }
    }
    const [, highest] = extent(all);
    let [low, high] = extent(warm);
    if (!(high > 0)) [low, high] = extent(all);
    if (highest <= 1.6 * high) high = highest;
    if (low > 0 && high > 20 * low) return {log: true, min: low * scale / 1.1, max: high * scale * 1.1};
    return {log: false, ...around(low * scale, high * scale)};
}

function band(line, color, scale) {
    return {
        type: 'custom', name: line.name, silent: true, clip: true, z: 1, data: [[0]],
        encode: {x: -1, y: -1}, tooltip: {show: false},
        renderItem: (params, api) => {
            if (params.dataIndexInside > 0) return null;
            const upper = [], lower = [];
            for (let i = 0; i < line.step.length; ++i) {
                if (line.min[i] === null || line.max[i] === null) continue;
                upper.push(api.coord([line.step[i], line.max[i] * scale]));
                lower.unshift(api.coord([line.step[i], line.min[i] * scale]));
            }
            return {type: 'polygon', shape: {points: upper.concat(lower)},
                    style: {fill: color, opacity: 0.2}};
        },
    };
}

function expectedMarks(chart, line, color, scale) {
    if (line.expected === null) return {};
    const at = line.expected * scale;
    const marks = {
        markLine: {silent: true, symbol: 'none', label: {show: false},
                   lineStyle: {color, type: 'dashed', width: 1.5}, data: [{yAxis: at}]},
    };
    const error = chart.expected_error;
    if (error > 0 && chart.lines.length <= 2) {
        marks.markArea = {silent: true, itemStyle: {color, opacity: 0.07},
                          data: [[{yAxis: at * (1 - error)}, {yAxis: at * (1 + error)}]]};
    }
    return marks;
}

function markSeries(chart, look) {
    const series = [];
    for (const [kind, form] of Object.entries(MARKS)) {
        const marks = chart.marks.filter(mark => mark.kind === kind);
        if (!marks.length) continue;
        const color = kind === 'checkpoint' ? look.dim : look.bad;
        series.push({
            type: 'scatter', name: kind, yAxisIndex: 1, symbol: form.symbol, symbolSize: form.size,
            symbolRotate: 0, z: 5, itemStyle: {color, borderColor: look.page, borderWidth: 1},
            data: marks.map(mark => ({value: [mark.step, form.at], text: mark.text})),
            markLine: kind !== 'relaunch' ? undefined : {
                silent: true, symbol: 'none', label: {show: false},
                lineStyle: {color, type: 'solid', width: 1.5},
                data: marks.map(mark => ({xAxis: mark.step})),
            },
        });
    }
    return series;
}

function shortened(text) {
    return text.length > 70 ? text.slice(0, 69) + '\u2026' : text;
}

export function steps(chart, look, width) {
    const {per_second: scale, name: unit} = chart.unit;
    const limits = timeLimits(chart, scale);
    const marks = markSeries(chart, look);
    const names = chart.lines.map(line => line.name).concat(marks.map(each => each.name));
    const top = legendHeight(names, width) + 26;
    const series = [];
    chart.lines.forEach((line, i) => {
        const color = look.lines[i % look.lines.length];
        series.push({
            type: 'line', name: line.name, symbol: SYMBOLS[i % SYMBOLS.length], z: 3,
            symbolSize: 4, showSymbol: line.step.length <= 400, showAllSymbol: true,
            lineStyle: {width: 1.2, color}, itemStyle: {color}, line,
            data: line.step.map((step, at) => ({
                value: [step, line.mean[at] === null ? null : line.mean[at] * scale],
                low: line.min[at], high: line.max[at],
            })),
            ...expectedMarks(chart, line, color, scale),
        });
        if (line.max.length) series.push(band(line, color, scale));
    });
    if (series.length) {
        series.push({
            type: 'line', name: 'warm-up', data: [], silent: true,
            markArea: {silent: true, itemStyle: {color: look.dim, opacity: 0.13},
                       data: chart.warmup.map(([first, last]) => [{xAxis: first}, {xAxis: last}])},
        });
    }
    const step = params => Math.round(params.value[0]);
    return {
        ...base(look),
        legend: {...base(look).legend, data: names},
        grid: {left: 56, right: 18, top, bottom: chart.zoom && !look.paper ? 78 : 44},
        xAxis: stepAxis(look, chart.lines, chart.marks.map(mark => mark.step)),
        yAxis: [figures(look, unit + '/step' + (limits.log ? ', logarithmic' : ''),
                        {...limits, type: limits.log ? 'log' : 'value',
                         axisLabel: {color: look.dim, formatter: digits}}),
                {type: 'value', min: 0, max: 1, show: false}],
        dataZoom: chart.zoom ? stepZoom(look) : [],
        tooltip: {...base(look).tooltip, formatter: all => {
            const lines = ['step ' + count(step(all[0]))];
            for (const each of all.slice(0, 8)) {
                if (each.data.text !== undefined) {
                    lines.push(each.seriesName + ': ' + shortened(each.data.text));
                } else {
                    const spread = each.data.low === null || each.data.low === undefined ? '' :
                        ` (${digits(each.data.low * scale)} to ${digits(each.data.high * scale)})`;
                    lines.push(`${each.seriesName}: ${digits(each.value[1])} ${unit}${spread}`);
                }
            }
            return lines.join('\n');
        }},
        series: series.concat(marks),
    };
}

export function stack(chart, look, width) {
    const {per_second: scale, name: unit} = chart.unit;
    const last = i => (i + 1 < chart.step.length ? chart.step[i + 1] - 1 : null);
    return {
        ...base(look),
        grid: {left: 56, right: 18, top: legendHeight(chart.names, width) + 26, bottom: 44},
        xAxis: axis(look, 'step', {
            type: 'category', data: chart.step.map(count), boundaryGap: false,
            splitLine: {show: false},
        }),
        yAxis: figures(look, unit + '/step', {min: 0, axisLabel: {color: look.dim, formatter: digits}}),
        tooltip: {...base(look).tooltip, formatter: all => {
            const i = all[0].dataIndex;
            const until = chart.steps_per_group > 1 && last(i) !== null ? ' to ' + count(last(i)) : '';
            return ['step ' + count(chart.step[i]) + until].concat(
                all.map(each => `${each.seriesName}: ${digits(each.value)} ${unit}`)).join('\n');
        }},
        series: chart.names.map((name, i) => ({
            type: 'line', name, stack: 'step', symbol: 'none', lineStyle: {width: 0.8, color: look.page},
            itemStyle: {color: look.lines[i % look.lines.length]},
            areaStyle: {color: look.lines[i % look.lines.length], opacity: 0.9},
            data: chart.mean_s[i].map(value => (value === null ? null : value * scale)),
        })),
    };
}

/// Four digits; a loss may be far below 1.
function figure(value) {
    return Number.isFinite(value) ? Number(value.toPrecision(4)) : '-';
}

export function lines(chart, look, width) {
    const names = chart.lines.map(line => line.name);
    return {
        ...base(look),
        legend: {...base(look).legend, show: names.length > 1, data: names},
        grid: {left: 56, right: 18, top: (names.length > 1 ? legendHeight(names, width) : 4) + 26,
               bottom: 44},
        xAxis: stepAxis(look, chart.lines),
        yAxis: figures(look, chart.quantity, {
            min: chart.from_zero ? 0 : undefined, axisLabel: {color: look.dim, formatter: digits}}),
        tooltip: {...base(look).tooltip, formatter: all => [`step ${count(all[0].value[0])}`].concat(
            all.map(each => `${each.seriesName}: ${figure(each.value[1])} ${chart.unit}`)).join('\n')},
        series: chart.lines.map((line, i) => ({
            type: 'line', name: line.name, symbol: SYMBOLS[i % SYMBOLS.length], symbolSize: 4,
            showSymbol: line.step.length <= 60, showAllSymbol: true,
            lineStyle: {width: 1.3, type: i === 0 ? 'solid' : 'dashed'},
            data: line.step.map((step, at) => [step, line.value[at]]),
        })),
    };
}
