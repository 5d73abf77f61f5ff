// Charts of cells: own work of ranks over the steps, bandwidth between nodes.
import {axis, base, count, digits} from './look.js';

function cells(look, columns, rows, values) {
    const data = [];
    values.forEach((value, i) => {
        if (value !== null) data.push([i % columns, Math.floor(i / columns), value]);
    });
    return {type: 'heatmap', data, progressive: 0, itemStyle: {borderWidth: 0},
            emphasis: {itemStyle: {borderColor: look.text, borderWidth: 1}}};
}

function labels(look, name, data, more) {
    return axis(look, name, {type: 'category', data, splitLine: {show: false},
                             splitArea: {show: false}, ...more});
}

function bar(look, colors, more) {
    return {type: 'continuous', orient: 'horizontal', top: 0, left: 'center', itemHeight: 160,
            itemWidth: 12, inRange: {color: colors}, textStyle: {color: look.dim}, ...more};
}

export function rankWork(chart, look) {
    const rank = row => row * chart.ranks_per_row;
    const name = row => {
        const last = Math.min(chart.ranks, rank(row) + chart.ranks_per_row) - 1;
        return last > rank(row) ? `${rank(row)}-${last}` : String(rank(row));
    };
    const rows = Math.ceil(chart.ranks / chart.ranks_per_row);
    const percent = chart.excess_permille.map(value => (value === null ? null : value / 10));
    const sizes = percent.filter(value => value !== null).map(Math.abs).sort((a, b) => a - b);
    const most = Math.max(5, sizes[Math.floor(0.995 * (sizes.length - 1))] || 0);
    return {
        ...base(look), legend: {show: false},
        grid: {left: 56, right: 18, top: 56, bottom: 44},
        xAxis: labels(look, 'step', chart.step.map(count)),
        yAxis: labels(look, 'rank', Array.from({length: rows}, (_, row) => name(row)),
                      {inverse: true, nameLocation: 'start', nameGap: 10,
                       axisLabel: {color: look.dim, interval: Math.ceil(rows / 24) - 1}}),
        visualMap: bar(look, [look.low, look.middle, look.high], {
            min: -most, max: most, precision: 1, calculable: false,
            text: [`+${digits(most)} %`, `-${digits(most)} %`]}),
        tooltip: {...base(look).tooltip, trigger: 'item', formatter: each => {
            const [column, row, value] = each.value;
            const sign = value > 0 ? '+' : '';
            return `rank ${name(row)}\nfrom step ${count(chart.step[column])}\n${sign}${value} %`;
        }},
        series: [cells(look, chart.step.length, rows, percent)],
    };
}

/// Lines between the leaves.
function edges(look, chart) {
    const last = chart.names.length - 1;
    const data = chart.leaf_of.map((leaf, i) => i)
        .filter(i => i > 0 && !chart.by_leaf && chart.leaf_of[i] !== chart.leaf_of[i - 1]);
    const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2},
                                       style: {stroke: look.text, lineWidth: 1.2}});
    return {
        type: 'custom', silent: true, z: 10, data: data.map(i => [i, i]), tooltip: {show: false},
        renderItem: (params, api) => {
            const at = api.value(0), [width, height] = api.size([1, 1]).map(Math.abs);
            const [x, y] = api.coord([at, at]), [left, top] = api.coord([0, 0]);
            const [right, bottom] = api.coord([last, last]);
            return {type: 'group', children: [
                line(x - width / 2, top - height / 2, x - width / 2, bottom + height / 2),
                line(left - width / 2, y - height / 2, right + width / 2, y - height / 2)]};
        },
    };
}

export function pairs(chart, look) {
    const size = chart.names.length;
    const known = chart.gbit_s.filter(value => value !== null);
    const place = i => chart.names[i] + (chart.leaf_of[i] && !chart.by_leaf ? `, ${chart.leaf_of[i]}` : '');
    return {
        ...base(look), legend: {show: false},
        grid: {left: 84, right: 18, top: 46, bottom: 70},
        xAxis: labels(look, '', chart.names, {
            axisLabel: {color: look.dim, rotate: 60, hideOverlap: true}}),
        yAxis: labels(look, '', chart.names, {inverse: true}),
        visualMap: bar(look, look.scale, {
            min: Math.min(...known), max: Math.max(...known), precision: 2, calculable: false,
            text: [`${digits(Math.max(...known))} Gbit/s`, digits(Math.min(...known))]}),
        tooltip: {...base(look).tooltip, trigger: 'item', formatter: each => {
            const [a, b, value] = each.value;
            return `${place(b)}\n${place(a)}\n${digits(value)} Gbit/s`;
        }},
        series: [cells(look, size, size, chart.gbit_s), edges(look, chart)],
    };
}
