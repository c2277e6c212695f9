/*
 * groups.cu - decodes the units of a batch's chain, a group at a time: the host's part
 * (inflating.cuh)
 *
 * The host cuts blocks into pieces.  Teams of threads decode pieces side by side.
 */
#include <algorithm>

#include "gpu/cuda/inflate/inflating.cuh"

/* The most output of a piece, in bytes; pieces may have somewhat more.  The limit matters only for
 * data that compresses very well.  With a higher limit, a few teams decode for long while others
 * are idle; with a lower one, there are more pieces. */
#define PIECE_OUTPUT ((uint32_t)256 << 10)

/* Returns the sum of `known` and `length`, at most GPU_WINDOW. */
static uint32_t add_known(uint32_t known, uint64_t length)
{
    return known + length < GPU_WINDOW ? (uint32_t)(known + length) : GPU_WINDOW;
}

/* Returns how many steps the piece has that begins with step `first` of a block. */
static uint32_t steps_of_piece(const struct gpu_inflate *g, const gpu_block &b, uint32_t first)
{
    const uint32_t most = std::min(b.steps - first, g->piece_steps);
    const uint32_t *const outline = g->outline + b.outline - 1 + first / GPU_OUTLINE_STEPS;
    uint32_t steps = GPU_OUTLINE_STEPS;

    if (b.outline == 0)
        return most;
    for (uint32_t i = 2; steps < most; i++) {
        const uint32_t next = first + i * GPU_OUTLINE_STEPS;

        if ((next < b.steps ? outline[i] : b.length) - outline[0] > PIECE_OUTPUT)
            break;
        steps = std::min(i * GPU_OUTLINE_STEPS, most);
    }
    return std::min(steps, most);
}

/* Adds the pieces of the unit of candidate number i, whose output goes to `to`.  *known is the
 * number of bytes of output before the unit that belong to its member, at most GPU_WINDOW.  The
 * function adds the length of the unit's output to *known. */
static void add_pieces(const struct call *c, struct group *group, uint32_t i, uint64_t to,
                       uint32_t *known)
{
    struct gpu_inflate *g = c->g;
    const gpu_unit &u = g->units[i];
    uint32_t map = gpu_map_place(c->batch, u.start, i);

    for (uint32_t k = 0; k < u.count; k++) {
        const gpu_block &b = u.blocks[k];
        gpu_piece p = {group->length, to, map, 0, b.start, b.data, 0, *known, b.length};

        if (b.steps == 0)
            g->pieces[group->pieces++] = p;
        for (; p.first < b.steps; p.first += p.steps, p.map += p.steps) {
            p.steps = steps_of_piece(g, b, p.first);
            g->pieces[group->pieces++] = p;
        }
        map += b.steps > 0 ? b.steps + 1 : 0;
        group->length += b.length;
        to += b.length;
        *known = add_known(*known, b.length);
    }
}

static uint32_t count_pieces(const struct gpu_inflate *g, const gpu_unit &u)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < u.count; k++) {
        const gpu_block &b = u.blocks[k];

        count += b.steps == 0;
        for (uint32_t first = 0; first < b.steps; count++)
            first += steps_of_piece(g, b, first);
    }
    return count;
}

/* Adds a member part: the group's output from byte `from` to its end.  This output goes to `to`.
 * `last` is the part's last unit.  `ends`: the member ends with this part. */
static void add_member_part(struct gpu_inflate *g, struct group *group, uint64_t from, uint64_t to,
                            const gpu_unit &last, bool ends)
{
    for (uint64_t at = from, n; at < group->length; at += n, to += n) {
        n = std::min(group->length - at, (uint64_t)GPU_CRC_PART);
        g->parts[group->parts++] = {to, (uint32_t)n, 0, at == from};
    }
    const uint32_t end = last.blocks[last.count - 1].end;

    g->member_parts[group->members++] = {group->pieces,
                                         group->parts,
                                         ends ? (end + 7) / 8 * 8 : last.end,
                                         last.end,
                                         group->length - from,
                                         ends,
                                         last.crc,
                                         last.size,
                                         0};
}

bool gpu_fill_group(struct call *c, struct group *group, uint32_t first)
{
    struct gpu_inflate *g = c->g;
    uint32_t known = c->known;
    /* The current member part starts at byte `from` of the group's output, and goes to `to`. */
    uint64_t from = 0, to = 0;

    *group = {0, 0, 0, first, 0, 0};
    for (uint32_t i = first; i < c->chain; i++) {
        const gpu_unit &u = g->units[g->which[i]];

        if (group->length + u.length > g->symbols_max ||
            group->pieces + count_pieces(g, u) > PIECES_MAX)
            break;
        const uint64_t place = c->places != NULL ? c->places[i] : group->length;

        if (group->length == from)
            to = place;
        add_pieces(c, group, g->which[i], place, &known);
        group->units++;
        if (u.how != GPU_UNIT_BLOCK) {
            add_member_part(g, group, from, to, u, true);
            from = group->length;
            known = 0;
        }
    }
    if (group->units == 0)
        return false;
    const gpu_unit &last = g->units[g->which[first + group->units - 1]];

    if (last.how == GPU_UNIT_BLOCK)
        add_member_part(g, group, from, to, last, false);
    c->next_known = known;
    return true;
}

/* Joins the checksums, or the sums (gpu_crc_join), of two consecutive runs of output: `sum` of the
 * first, and `next` of the second, which has `length` bytes. */
static uint32_t join(const struct call *c, uint32_t sum, uint32_t next, uint64_t length)
{
    return c->batch.wrapping == GPU_MANY_ZLIB ? gpu_adler_join(sum, next, length)
                                              : gpu_crc_join(sum, next, length);
}

void gpu_add_part(const struct call *c, struct member *m, const struct member_part *part)
{
    m->crc = join(c, m->crc, part->crc, part->length);
    m->length += part->length;
}

bool gpu_member_is_right(const struct call *c, const struct member *m,
                         const struct member_part *last)
{
    switch (c->batch.wrapping) {
    case GPU_MANY_RAW:
        return true;
    case GPU_MANY_ZLIB:
        return m->crc == last->trailer_crc;
    default:
        return m->crc == last->trailer_crc && (uint32_t)m->length == last->trailer_size;
    }
}

/* Queues the computation of the checksums of the group's parts. */
static cudaError_t sum_up(const struct call *c, const struct group *group, const uint8_t *out)
{
    const struct gpu_inflate *g = c->g;

    switch (c->batch.wrapping) {
    case GPU_MANY_RAW:
        return cudaSuccess;
    case GPU_MANY_ZLIB:
        return gpu_sum_up_adler(out, g->parts_device, group->parts, g->stream);
    default:
        return gpu_sum_up(out, g->parts_device, group->parts, g->stream);
    }
}

/* Sets the checksums of the group's member parts. */
static void sum_up_members(const struct call *c, const struct group *group)
{
    struct gpu_inflate *g = c->g;
    uint32_t i = 0;

    if (c->batch.wrapping == GPU_MANY_RAW)
        return;
    for (uint32_t k = 0; k < group->members; k++) {
        struct member_part *m = &g->member_parts[k];
        uint32_t sum = 0;

        for (; i < m->parts; i++)
            sum = join(c, sum, g->parts[i].crc, g->parts[i].length);
        /* A CRC is the complement of the sum.  Without output, the CRC is 0, and there is no sum to
         * complement. */
        m->crc = c->batch.wrapping == GPU_MANY_ZLIB || m->length == 0 ? sum : ~sum;
    }
}

bool gpu_run_group(struct call *c, const struct group *group, uint8_t *out)
{
    struct gpu_inflate *g = c->g;
    const uint32_t chunk = (group->pieces + CHUNKS - 1) / CHUNKS;
    const gpu_group work = {g->pieces_device, group->pieces, chunk,      g->ranges_device,
                            g->symbols,       g->names,      g->windows, &g->counters[NEXT_DECODE]};
    const gpu_unit &last = g->units[g->which[group->first + group->units - 1]];

    if (!gpu_is_good(g, cudaMemsetAsync(work.next, 0, sizeof(uint32_t), g->stream), c->error) ||
        !put_words(c, g->pieces_device, g->pieces, group->pieces) ||
        !put_words(c, g->parts_device, g->parts, group->parts) || !gpu_mark(c, BEFORE_DECODE) ||
        !gpu_is_good(g,
                     gpu_decode(c->batch, work, g->map,
                                (uint32_t)(g->multiprocessors * DECODE_BLOCKS), g->stream),
                     c->error) ||
        !gpu_mark(c, AFTER_DECODE) ||
        !gpu_is_good(g, gpu_find_windows(work, g->stream), c->error) ||
        !gpu_mark(c, AFTER_WINDOWS) ||
        !gpu_is_good(g, gpu_resolve(work, out, g->stream), c->error) || !gpu_mark(c, AFTER_RESOLVE))
        return false;
    if (g->options.is_wrong && group->parts > 0 &&
        !gpu_is_good(g,
                     cudaMemsetAsync(out + g->parts[group->parts / 2].start, 'x',
                                     std::min(g->parts[group->parts / 2].length, 16u), g->stream),
                     c->error))
        return false;
    if (!gpu_is_good(g, sum_up(c, group, out), c->error) || !gpu_mark(c, AFTER_SUM) ||
        !to_device(c, g->windows, g->windows + (size_t)gpu_chunks(work) * GPU_WINDOW, GPU_WINDOW) ||
        !to_device(c, g->ranges, g->ranges_device, group->pieces) ||
        !from_device(c, g->parts, g->parts_device, group->parts))
        return false;
    gpu_add_time(g, &g->times.decode, BEFORE_DECODE, AFTER_DECODE);
    gpu_add_time(g, &g->times.windows, AFTER_DECODE, AFTER_WINDOWS);
    gpu_add_time(g, &g->times.resolve, AFTER_WINDOWS, AFTER_RESOLVE);
    gpu_add_time(g, &g->times.sum_up, AFTER_RESOLVE, AFTER_SUM);
    sum_up_members(c, group);
    c->position = 8 * c->batch_start + last.end;
    c->known = c->next_known;
    c->has_ended = last.how == GPU_UNIT_LAST;
    return true;
}

bool gpu_group_is_good(const struct call *c, const struct group *group)
{
    for (uint32_t i = 0; i < group->pieces; i++)
        if (c->g->ranges[i].is_bad)
            return false;
    return true;
}
