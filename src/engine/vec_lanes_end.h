/* vec_lanes_end.h - behind the last use of what vec_lanes.h defines. */
#undef vf
#undef vi
#undef LANES
#undef SELECT
#undef VEC_BYTES
#undef VEC_NAME
