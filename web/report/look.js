// Colours and shared pieces of the charts. Line colours are those of Okabe and Ito, which people
// with any kind of colour vision tell apart; on a dark page the lighter ones come first.
export const LIGHT = {
    lines: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#555555'],
    text: '#1c2126', dim: '#5b646d', grid: '#dfe3e6', page: '#ffffff', bad: '#b3261e',
    low: '#2166ac', middle: '#f4f4f2', high: '#b35806',
    scale: ['#00224e', '#35456c', '#666970', '#948e77', '#c8b866', '#fee838'],
};
export const DARK = {
    lines: ['#56b4e9', '#e69f00', '#2bbf93', '#e39ac4', '#f0e442', '#ff8a5c', '#b8bec4'],
    text: '#e6e9ec', dim: '#9aa4ad', grid: '#353c43', page: '#14181c', bad: '#ff8a80',
    low: '#5aa9e6', middle: '#23292f', high: '#f0a04b',
    scale: ['#00224e', '#35456c', '#666970', '#948e77', '#c8b866', '#fee838'],
};
export const PAPER = {...LIGHT, paper: true};
export const SYMBOLS = ['circle', 'triangle', 'rect', 'diamond', 'roundRect', 'arrow', 'pin'];

/// Three significant digits without an exponent; "-" for what is not known.
export function digits(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return '-';
    const size = Math.abs(value);
    return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/// Limits of an axis that shows [low, high], at round figures and not below 0.
export function around(low, high) {
    const range = high - low || high || 1, tick = 10 ** Math.floor(Math.log10(range)) / 2;
    const room = 0.04 * range;
    return {min: Math.max(0, Math.floor((low - room) / tick) * tick),
            max: Math.ceil((high + room) / tick) * tick};
}

export function count(value) {
    return value.toLocaleString('en-US');
}

export function base(look) {
    return {
        animation: false,
        backgroundColor: 'transparent',
        color: look.lines,
        textStyle: {color: look.text, fontFamily: 'system-ui, sans-serif'},
        tooltip: {
            trigger: 'axis', renderMode: 'richText', confine: true, transitionDuration: 0,
            backgroundColor: look.page, borderColor: look.dim, borderWidth: 1,
            textStyle: {color: look.text, fontSize: 12},
            axisPointer: {lineStyle: {color: look.dim}},
        },
        legend: {type: 'plain', top: 0, left: 'center', textStyle: {color: look.text},
                 inactiveColor: look.dim, itemWidth: 18},
    };
}

export function axis(look, name, more) {
    return {
        type: 'value', name, nameLocation: 'middle', nameGap: 28,
        nameTextStyle: {color: look.dim}, axisLabel: {color: look.dim, hideOverlap: true},
        axisLine: {lineStyle: {color: look.dim}}, axisTick: {lineStyle: {color: look.dim}},
        splitLine: {lineStyle: {color: look.grid}}, ...more,
    };
}

/// An axis of figures on the left; its name stands above it.
export function figures(look, name, more) {
    return axis(look, name, {
        nameLocation: 'end', nameGap: 12, scale: true,
        nameTextStyle: {color: look.dim, align: 'left', padding: [0, 0, 0, -44]}, ...more,
    });
}

/// Rows of the legend, so that the plot begins below it.
export function legendHeight(names, width) {
    const pixels = names.reduce((sum, name) => sum + 44 + 7 * name.length, 0);
    return 24 * Math.max(1, Math.ceil(pixels / Math.max(200, width)));
}

export function stepZoom(look) {
    return look.paper ? [] : [{
        type: 'slider', xAxisIndex: 0, filterMode: 'none', bottom: 6, height: 18,
        borderColor: look.grid, textStyle: {color: look.dim}, brushSelect: false,
        fillerColor: look.lines[0] + '33', showDataShadow: false,
        labelFormatter: value => count(Math.round(value)),
    }];
}
